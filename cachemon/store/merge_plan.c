/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/merge_plan.h"

#include <errno.h>

#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/db/schema.h"

/*
 * A table's rows are found by the ids of one column, for which it has an index: of the interval,
 * else of its first such column. A row whose other ids name no row is left out (of a file that was
 * folded into its directory), or has NULL where it may. In order of creation, no table names a
 * later one.
 */
#define TABLES                                                                                     \
	"WITH tab AS (SELECT rowid AS place, name FROM sqlite_schema "                             \
	"WHERE type = 'table' AND name NOT GLOB 'sqlite_*'), "                                     \
	"col AS MATERIALIZED (SELECT t.name AS tab, c.cid, c.name, c.\"notnull\" OR c.pk AS "      \
	"needed, "                                                                                 \
	"p.name AS parent FROM tab t JOIN pragma_table_info(t.name) c "                            \
	"LEFT JOIN tab p ON c.name GLOB '*_id' AND p.name = substr(c.name, 1, length(c.name) - "   \
	"3)), "                                                                                    \
	"leading AS (SELECT tab, parent FROM (SELECT tab, parent, row_number() OVER "              \
	"(PARTITION BY tab ORDER BY parent <> 'interval', cid) AS nr "                             \
	"FROM col WHERE parent NOT NULL AND needed) WHERE nr = 1), "                               \
	"named AS (SELECT DISTINCT parent AS name FROM col WHERE parent NOT NULL) "

/* The columns of a row, in one order in both statements. */
#define EACH_COLUMN(what)                                                                          \
	"(SELECT group_concat(" what ", ', ') FROM (SELECT name, parent FROM col "                 \
	"WHERE tab = t.name AND name <> 'id' ORDER BY cid))"

static const char PLAN[] = TABLES
	"SELECT t.name, "
	"format('SELECT %s%s FROM %s%s%s', "
	"  iif(n.name IS NULL, '', 't.id, '), " EACH_COLUMN(
		"iif(parent IS NULL, format('t.\"%w\"', name), "
		"format('to_%s.new', parent))") ", "
						"  iif(l.parent IS NULL, "
						"format('main.\"%w\" t "
						"WHERE t.id = ?1', t.name), "
						"   format('temp.to_%s "
						"CROSS JOIN main.\"%w\" t "
						"ON t.%s_id = to_%s.old', "
						"    l.parent, t.name, "
						"l.parent, l.parent)), "
						"  coalesce((SELECT "
						"group_concat(format('%s "
						"JOIN temp.to_%s ON "
						"to_%s.old = t.%s_id', "
						"   iif(needed, '', ' "
						"LEFT'), parent, parent, "
						"parent), '') FROM col "
						"   WHERE tab = t.name AND "
						"parent <> l.parent), ''), "
						"  iif(n.name IS NULL OR "
						"l.parent IS NULL, '', ' "
						"ORDER BY t.id')), "
						"format('INSERT INTO "
						"main.\"%w\" (%s) VALUES "
						"(%s)', "
						"t.name, " EACH_COLUMN(
							"form"
							"at('"
							"\"%"
							"w\"'"
							", "
							"name"
							")") ", " EACH_COLUMN("'?'") "), "
										     "iif(n.name "
										     "IS NULL, "
										     "NULL, "
										     "format('"
										     "INSERT INTO "
										     "temp.to_%s "
										     "VALUES (?1, "
										     "?2)', "
										     "t.name)) "
										     "FROM tab t "
										     "LEFT JOIN "
										     "named n ON "
										     "n.name = "
										     "t.name LEFT "
										     "JOIN "
										     "leading l "
										     "ON l.tab = "
										     "t.name "
										     "ORDER BY "
										     "t.place";

static const char MAPS[] =
	TABLES "SELECT group_concat(format('CREATE TEMP TABLE to_%s (old INTEGER PRIMARY KEY, "
	       "new INTEGER NOT NULL);', name), ' ') FROM named";

static int make(sqlite3 *db, struct merge_plan *p)
{
	struct rows r = rows_begin(db, &p->texts, PLAN, 0, NULL);
	int ret;

	while (rows_next_of(&r, p->nr, MERGE_TABLES_MAX))
		p->tables[p->nr++] = (struct merge_table){
			.name = rows_bytes(&r).data,
			.select = rows_bytes(&r).data,
			.insert = rows_bytes(&r).data,
			.note = rows_bytes(&r).data,
		};
	ret = rows_finish(&r);
	if (ret)
		return ret;
	r = rows_begin(db, &p->texts, MAPS, 0, NULL);
	if (rows_next(&r))
		p->maps = rows_bytes(&r).data;
	return rows_finish(&r);
}

int merge_plan_make(struct merge_plan *ret, struct errtext *err)
{
	sqlite3 *db = NULL;
	int rc = db_open(NULL, DB_MEMORY, &db);

	*ret = (struct merge_plan){.nr = 0};
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, schema_whole(), NULL, NULL, NULL);
	if (rc == SQLITE_OK && make(db, ret))
		rc = SQLITE_NOMEM;
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : errtext_set(err, -ENOMEM, "cannot merge: out of memory");
}

void merge_plan_free(struct merge_plan *p)
{
	arena_free(&p->texts);
}
