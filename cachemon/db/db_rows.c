/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/db_rows.h"

#include <errno.h>

struct rows rows_begin(sqlite3 *db, struct arena *arena, const char *sql, int nr_params,
		       const int64_t params[])
{
	struct rows r = {.db = db, .arena = arena, .rc = SQLITE_NOMEM};

	if (!sql)
		return r;
	r.rc = sqlite3_prepare_v2(db, sql, -1, &r.stmt, NULL);
	for (int i = 0; i < nr_params && r.rc == SQLITE_OK; i++)
		r.rc = sqlite3_bind_int64(r.stmt, i + 1, params[i]);
	return r;
}

bool rows_next(struct rows *r)
{
	if (r->rc != SQLITE_OK && r->rc != SQLITE_ROW)
		return false;
	r->column = 0;
	r->rc = sqlite3_step(r->stmt);
	return r->rc == SQLITE_ROW;
}

bool rows_next_of(struct rows *r, size_t nr, size_t room)
{
	if (!rows_next(r))
		return false;
	if (nr >= room)
		r->damage = "a table has more rows than were counted";
	return nr < room;
}

int rows_finish(struct rows *r)
{
	bool good = r->rc == SQLITE_DONE || r->rc == SQLITE_ROW || r->rc == SQLITE_OK;
	int ret = 0;

	if (r->arena->failed || (!good && !r->stmt && r->rc == SQLITE_NOMEM))
		ret = -ENOMEM;
	else if (!good || r->damage)
		ret = -EIO;
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return ret;
}

int rows_first(sqlite3 *db, const char *sql, int64_t *ret)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int rows_run(sqlite3 *db, const char *query)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, query, -1, &stmt, NULL);

	while (!rc && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = sqlite3_exec(db, (const char *)sqlite3_column_text(stmt, 0), NULL, NULL, NULL);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

size_t rows_total(sqlite3 *db, const char *sql, int64_t param)
{
	struct arena no_texts = {0};
	struct rows r = rows_begin(db, &no_texts, sql, 0, NULL);
	int64_t n = 0;

	if (sqlite3_bind_parameter_count(r.stmt))
		r.rc = sqlite3_bind_int64(r.stmt, 1, param);
	if (rows_next(&r))
		n = rows_value(&r, 0);
	sqlite3_finalize(r.stmt);
	return n > 0 ? (size_t)n : 0;
}

const char *rows_error(sqlite3 *db)
{
	int rc = sqlite3_errcode(db);

	if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
		return "it has values that cachemon never writes";
	if (rc == SQLITE_INTERRUPT)
		return "it takes too long for the size of the database: the database is damaged; "
		       "name another one with --db";
	return sqlite3_errmsg(db);
}

struct bytes rows_bytes(struct rows *r)
{
	struct bytes ret = {0};
	int i = r->column++;
	const void *data = NULL;

	if (sqlite3_column_type(r->stmt, i) == SQLITE_NULL)
		return ret;
	if (sqlite3_column_type(r->stmt, i) == SQLITE_BLOB)
		data = sqlite3_column_blob(r->stmt, i);
	else
		data = sqlite3_column_text(r->stmt, i);
	return arena_bytes(r->arena, data, (size_t)sqlite3_column_bytes(r->stmt, i));
}

/* No numeric column accepts text, so the file was changed outside SQL. */
static void look_at(struct rows *r, int type)
{
	if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		r->damage = "text where a number should be";
}

struct opt_i64 rows_i64(struct rows *r)
{
	struct opt_i64 ret = {0};
	int i = r->column++;
	int type = sqlite3_column_type(r->stmt, i);

	look_at(r, type);
	if (type != SQLITE_INTEGER)
		return ret;
	ret.value = sqlite3_column_int64(r->stmt, i);
	ret.known = true;
	return ret;
}

struct opt_f64 rows_f64(struct rows *r)
{
	struct opt_f64 ret = {0};
	int i = r->column++;
	int type = sqlite3_column_type(r->stmt, i);

	look_at(r, type);
	if (type != SQLITE_FLOAT && type != SQLITE_INTEGER)
		return ret;
	ret.value = sqlite3_column_double(r->stmt, i);
	/* No output format can represent infinity. */
	ret.known = ret.value - ret.value == 0;
	return ret;
}

int64_t rows_value(struct rows *r, int64_t absent)
{
	struct opt_i64 v = rows_i64(r);

	return v.known ? v.value : absent;
}

int64_t rows_ns(struct rows *r)
{
	int64_t ns = rows_value(r, 0);

	if (ns >= 0 && ns <= ROWS_NS_MAX)
		return ns;
	r->damage = "a time that no run takes";
	return 0;
}
