/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_delete.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/store/store_impl.h"

static int delete_of(sqlite3 *db, const char *table, const char *which);

/* The tables whose rows belong to rows of this one, as the schema says. */
static int delete_below(sqlite3 *db, const char *table, const char *which)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT m.name, f.\"from\" FROM main.sqlite_schema m, "
				    "pragma_foreign_key_list(m.name) f WHERE m.type = 'table' AND "
				    "f.\"table\" = ?1 AND f.on_delete = 'CASCADE'",
				    -1, &stmt, NULL);

	if (!rc)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (!rc && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		_cleanup_free_ char *below = NULL;

		rc = text_print(&below, "%s IN (SELECT id FROM %s WHERE %s)",
				(const char *)sqlite3_column_text(stmt, 1), table, which)
			     ? SQLITE_NOMEM
			     : delete_of(db, (const char *)sqlite3_column_text(stmt, 0), below);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* SQLite would look for rows below each single row, most of which no index leads to. */
static int delete_of(sqlite3 *db, const char *table, const char *which)
{
	_cleanup_free_ char *sql = NULL;
	int rc = delete_below(db, table, which);

	if (!rc && text_print(&sql, "DELETE FROM main.%s WHERE %s", table, which))
		rc = SQLITE_NOMEM;
	return rc ? rc : sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* The number of rows that a query counts; -1: st->rc says why not. */
static int64_t count_of(struct store *st, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t ret = -1;

	st->rc = sqlite3_prepare_v2(st->db, sql, -1, &stmt, NULL);
	if (!st->rc)
		st->rc = sqlite3_step(stmt);
	if (st->rc == SQLITE_ROW) {
		ret = sqlite3_column_int64(stmt, 0);
		st->rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return ret;
}

/* Inside of the transaction. A text in err: nothing may be deleted. */
static int delete_each(struct store *st, const int64_t *ids, size_t nr, struct errtext *err)
{
	char which[48], sql[96];

	st->rc = writer_mark_cut(st->db);
	if (!st->rc && count_of(st, "SELECT count(*) FROM run WHERE state = 'open'") > 0)
		return errtext_set(err, -EBUSY,
				   "a run of %s is being written, so nothing was deleted; try "
				   "again when it has ended",
				   st->path);
	for (size_t i = 0; i < nr && !st->rc; i++) {
		snprintf(which, sizeof(which), "id = %" PRId64, ids[i]);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM run WHERE %s", which);
		if (!count_of(st, sql))
			return errtext_set(err, -ENOENT,
					   "%s has no run %" PRId64 ", so nothing was deleted",
					   st->path, ids[i]);
		if (!st->rc)
			st->rc = delete_of(st->db, "run", which);
	}
	return 0;
}

static int delete_runs(struct store *st, const int64_t *ids, size_t nr, struct errtext *ret_note,
		       struct errtext *err)
{
	int ret = store_open_existing(st, err);

	if (ret)
		return ret;
	st->rc = sqlite3_exec(st->db, "PRAGMA foreign_keys = OFF; BEGIN EXCLUSIVE", NULL, NULL,
			      NULL);
	if (!st->rc)
		ret = delete_each(st, ids, nr, err);
	if (ret)
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	else
		ret = store_finish(st, "delete from", NULL, err);
	sqlite3_limit(st->db, SQLITE_LIMIT_ATTACHED, 1); /* VACUUM copies into another one */
	if (!ret &&
	    sqlite3_exec(st->db, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL))
		errtext_set(ret_note, 0, "the space was not given back: %s",
			    sqlite3_errmsg(st->db));
	return ret;
}

int store_delete_runs(const struct store_config *c, const int64_t *ids, size_t nr,
		      struct errtext *ret_note, struct errtext *err)
{
	struct store st = {
		.path = (char *)c->path,
		.as = c->as,
		.limits = c->limits ? *c->limits : store_limits_default(),
	};
	int ret = store_enter(&st, err);

	if (ret)
		return ret;
	ret = delete_runs(&st, ids, nr, ret_note, err);
	sqlite3_close(st.db);
	store_leave(&st);
	return ret;
}
