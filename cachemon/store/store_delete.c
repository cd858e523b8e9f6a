/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_delete.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/store/store_impl.h"

static int delete_of(sqlite3 *db, const char *table, const char *which)
{
	_cleanup_free_ char *sql = NULL;

	if (text_print(&sql, "DELETE FROM main.%s WHERE %s", table, which))
		return SQLITE_NOMEM;
	db_renew(db); /* one allowance per table of the schema, because each statement may read a
		       * whole table */
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* SQLite would search for child rows of each single row, mostly without an index. */
int delete_rows(sqlite3 *db, const char *table, const char *which)
{
	return store_each_table(db, table, which, delete_of);
}

/* One statement per table, for any number of runs: most tables have no index by run or job. */
static int note_going(sqlite3 *db, const int64_t *ids, size_t nr)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_exec(db, "CREATE TEMP TABLE going (id INTEGER PRIMARY KEY)", NULL, NULL,
			      NULL);

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO temp.going VALUES (?1)", -1,
					&stmt, NULL);
	for (size_t i = 0; i < nr && !rc; i++) {
		sqlite3_bind_int64(stmt, 1, ids[i]);
		sqlite3_step(stmt);
		rc = sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

/* Inside the transaction. A text in err: nothing may be deleted. */
static int delete_each(struct store_file *f, const int64_t *ids, size_t nr, int *ret_rc,
		       struct errtext *err)
{
	int64_t open = 0, missing = 0;
	int rc;

	rc = writer_mark_cut(f->db);
	if (!rc)
		rc = rows_first(f->db, "SELECT count(*) FROM run WHERE state = 'open'", &open);
	if (!rc && open)
		return errtext_set(err, -EBUSY,
				   "a run of %s is being written, so nothing was deleted; try "
				   "again when it has ended",
				   f->path);
	if (!rc)
		rc = note_going(f->db, ids, nr);
	if (!rc)
		rc = rows_first(f->db,
				"SELECT id FROM temp.going WHERE id NOT IN (SELECT id FROM "
				"main.run) LIMIT 1",
				&missing);
	if (!rc && missing)
		return errtext_set(err, -ENOENT,
				   "%s has no run %" PRId64 ", so nothing was deleted", f->path,
				   missing);
	if (!rc)
		rc = delete_rows(f->db, "run", "id IN (SELECT id FROM temp.going)");
	*ret_rc = rc;
	return 0;
}

static int delete_runs(struct store_file *f, const int64_t *ids, size_t nr,
		       struct errtext *ret_note, struct errtext *err)
{
	int ret = store_open_existing(f, err), rc;

	if (ret)
		return ret;
	rc = sqlite3_exec(f->db, "PRAGMA foreign_keys = OFF; BEGIN EXCLUSIVE", NULL, NULL, NULL);
	if (!rc)
		ret = delete_each(f, ids, nr, &rc, err);
	if (ret)
		sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	else
		ret = store_commit(f, rc, "delete from", NULL, err);
	db_renew(f->db);
	sqlite3_limit(f->db, SQLITE_LIMIT_ATTACHED, 1); /* VACUUM copies into another one */
	if (!ret &&
	    sqlite3_exec(f->db, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL))
		errtext_set(ret_note, 0, "the freed space was not returned to the filesystem: %s",
			    sqlite3_errmsg(f->db));
	return ret;
}

int store_delete_runs(const struct store_config *c, const int64_t *ids, size_t nr,
		      struct errtext *ret_note, struct errtext *err)
{
	struct store_file f = {
		.path = (char *)c->path,
		.as = c->as,
		.limits = c->limits ? *c->limits : store_limits_default(),
	};
	int ret = store_enter(&f, err);

	if (ret)
		return ret;
	ret = delete_runs(&f, ids, nr, ret_note, err);
	sqlite3_close(f.db);
	store_leave(&f);
	return ret;
}
