/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/db/schema.h"
#include "cachemon/store/store_impl.h"

#define TABLES "main.sqlite_schema m WHERE m.type = 'table' AND m.name NOT GLOB 'sqlite_*'"

/* The number that is added to those of each table. Rows may still name a file that has gone, so a
 * table with a sequence goes on with it. */
static const char moves[] =
	"SELECT format('INSERT INTO temp.move SELECT %Q, coalesce((SELECT seq FROM "
	"main.sqlite_sequence WHERE name = %Q), (SELECT max(id) FROM main.\"%w\"), "
	"0) + 1 - coalesce((SELECT min(id) FROM came.\"%w\"), 1)', m.name, m.name, m.name, "
	"m.name) FROM " TABLES " AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) "
	"WHERE name = 'id' AND pk)";

/* The column TABLE_id has a number of that table. A row of a file that was folded into its
 * directory is left out: under its new number there may be a file of another run. */
static const char copies[] =
	"SELECT format('INSERT INTO main.\"%w\" (%s) SELECT %s FROM came.\"%w\"%s', m.name, "
	"(SELECT group_concat(format('\"%w\"', name), ', ') FROM pragma_table_info(m.name)), "
	"(SELECT group_concat(format('\"%w\"%s', c.name, coalesce((SELECT format(' + (%d)', v.by) "
	"FROM temp.move v WHERE iif(c.name = 'id', m.name || '_id', c.name) = v.name || '_id'), "
	"'')), ', ') FROM pragma_table_info(m.name) c), m.name, "
	"coalesce((SELECT ' WHERE ' || group_concat(format('\"%w\" IN (SELECT id FROM "
	"came.\"%w\")', c.name, v.name), ' AND ') FROM pragma_table_info(m.name) c JOIN temp.move "
	"v ON c.name = v.name || '_id' AND c.\"notnull\"), '')) FROM " TABLES;

/* BEGIN IMMEDIATE would also write to the image. The rows come in the order of tables, not in that
 * of references. */
static int add_rows(sqlite3 *db, const int *exit_status, int64_t *ret_run)
{
	char sql[128];
	int rc = sqlite3_exec(
		db,
		"BEGIN; DELETE FROM main.run WHERE false; PRAGMA defer_foreign_keys = ON; "
		"CREATE TEMP TABLE move (name TEXT PRIMARY KEY, by INTEGER NOT NULL)",
		NULL, NULL, NULL);

	if (!rc)
		rc = rows_run(db, moves);
	if (!rc)
		rc = rows_first(db,
				"SELECT id + by FROM came.run, temp.move WHERE move.name = 'run'",
				ret_run);
	if (!rc)
		rc = rows_run(db, copies);
	if (!rc && exit_status) {
		snprintf(sql, sizeof(sql),
			 "UPDATE main.run SET exit_status = %d WHERE id = %" PRId64, *exit_status,
			 *ret_run);
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	if (!rc)
		rc = sqlite3_exec(db, "DROP TABLE temp.move", NULL, NULL, NULL);
	return rc;
}

static int check_image(const struct db_image *image, const char *name, struct errtext *err)
{
	int64_t version = 0, runs = 0;
	sqlite3 *db = NULL;
	int ret = db_read_image(image, name, &db, err);

	if (ret)
		return ret;
	if (rows_first(db, "PRAGMA user_version", &version) ||
	    rows_first(db, "SELECT count(*) FROM run", &runs))
		ret = db_read_error(db, err);
	else if (version != SCHEMA_NEWEST)
		ret = errtext_set(err, -EPROTONOSUPPORT,
				  "%s has the tables of another version of cachemon; install the "
				  "same version",
				  name);
	else if (runs != 1)
		ret = errtext_set(err, -EBADMSG, "%s has %" PRId64 " runs, not one", name, runs);
	sqlite3_close(db);
	return ret;
}

static int add_image(struct store_file *f, const struct db_image *image, const int *exit_status,
		     int64_t *ret_run, struct errtext *err)
{
	sqlite3_int64 bytes = (sqlite3_int64)image->bytes;
	int rc, ret;

	sqlite3_limit(f->db, SQLITE_LIMIT_ATTACHED, 1);
	rc = sqlite3_exec(f->db, "ATTACH 'file:came?mode=memory' AS came", NULL, NULL, NULL);
	if (!rc)
		rc = sqlite3_deserialize(f->db, "came", image->map, bytes, bytes,
					 SQLITE_DESERIALIZE_READONLY);
	db_renew(f->db);
	if (!rc)
		rc = add_rows(f->db, exit_status, ret_run);
	ret = store_commit(f, rc, "add a run to", NULL, err);
	sqlite3_exec(f->db, "DETACH came", NULL, NULL, NULL);
	sqlite3_limit(f->db, SQLITE_LIMIT_ATTACHED, 0);
	return ret;
}

int store_import(struct store *st, const struct db_image *image, const char *name,
		 const int *exit_status, struct errtext *err)
{
	int ret = check_image(image, name, err);
	int64_t run = 0;

	if (!ret)
		ret = store_enter(st->file, err);
	if (ret)
		return ret;
	ret = add_image(st->file, image, exit_status, &run, err);
	store_leave(st->file);
	if (!ret)
		st->run_id = run;
	return ret;
}
