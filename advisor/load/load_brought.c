/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/load/load_brought.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "cachemon/figures/counters.h"

/* NULL, which is not measured, makes all of it NULL. */
#define BROUGHT(row) SQL_brought_pages(row ".")

static int failed(sqlite3 *db, struct errtext *err)
{
	return errtext_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? -ENOMEM : -EIO,
			   "cannot read what the job's files brought: %s", sqlite3_errmsg(db));
}

static double known(sqlite3_stmt *s, int column)
{
	double value = sqlite3_column_double(s, column);

	return sqlite3_column_type(s, column) == SQLITE_NULL || !(value >= 0) ? -1 : value;
}

static sqlite3_stmt *ask(sqlite3 *db, int64_t job_id, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
		sqlite3_bind_int64(s, 1, job_id);
	return s;
}

/* Databases of other programs, and those that tests make. */
static bool has_counters(sqlite3 *db)
{
	static const char *const tables[] = {"job", "file"};

	for (int i = 0; i < 2; i++)
		if (sqlite3_table_column_metadata(db, "main", tables[i], "demand_pages", NULL, NULL,
						  NULL, NULL, NULL))
			return false;
	return true;
}

static int load_job(sqlite3 *db, int64_t job_id, double *ret_pages, struct errtext *err)
{
	sqlite3_stmt *s = ask(db, job_id, "SELECT " BROUGHT("j") " FROM job j WHERE j.id = ?1");
	int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
	int r = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(db, err);

	if (!r)
		*ret_pages = rc == SQLITE_ROW ? known(s, 0) : -1;
	sqlite3_finalize(s);
	return r;
}

int load_brought(sqlite3 *db, int64_t job_id, void (*take)(void *arg, const struct brought_file *),
		 void *arg, double *ret_pages, struct errtext *err)
{
	sqlite3_stmt *s;
	double pages;
	int rc = SQLITE_ERROR, r = 0;

	if (!has_counters(db)) {
		*ret_pages = -1;
		return 0;
	}
	r = load_job(db, job_id, &pages, err);
	if (r)
		return r;
	s = ask(db, job_id,
		"SELECT t.id, f.size_bytes, " BROUGHT(
			"f") " FROM file f LEFT JOIN traced_file t "
			     "ON t.job_id = f.job_id AND t.dev_major = f.dev_major AND t.dev_minor "
			     "= f.dev_minor "
			     "AND t.ino = f.ino AND t.gen = f.gen WHERE f.job_id = ?1");
	while (s && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		bool traced = sqlite3_column_type(s, 0) != SQLITE_NULL;
		double size = known(s, 1);
		struct brought_file file = {
			.traced_file_id = traced ? sqlite3_column_int64(s, 0) : -1,
			.size_bytes = size < (double)INT64_MAX ? (int64_t)size : INT64_MAX,
			.pages = known(s, 2),
		};

		take(arg, &file);
	}
	r = rc == SQLITE_DONE ? 0 : failed(db, err);
	sqlite3_finalize(s);
	if (!r)
		*ret_pages = pages;
	return r;
}
