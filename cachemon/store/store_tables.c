/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/store/store_impl.h"

/* A row of an interval is found by its interval alone, for which it has an index. */
static const char children[] =
	"SELECT m.name, f.\"from\" FROM main.sqlite_schema m, pragma_foreign_key_list(m.name) f "
	"WHERE m.type = 'table' AND f.\"table\" = ?1 AND f.on_delete = 'CASCADE' AND "
	"(f.\"from\" = 'interval_id' OR "
	"NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE name = 'interval_id'))";

static int each_below(sqlite3 *db, const char *table, const char *which, store_table_fn *each)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, children, -1, &stmt, NULL);

	if (!rc)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (!rc && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		_cleanup_free_ char *below = NULL;

		rc = text_print(&below, "%s IN (SELECT id FROM main.%s WHERE %s)",
				(const char *)sqlite3_column_text(stmt, 1), table, which)
			     ? SQLITE_NOMEM
			     : store_each_table(db, (const char *)sqlite3_column_text(stmt, 0),
						below, each);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_each_table(sqlite3 *db, const char *table, const char *which, store_table_fn *each)
{
	int rc = each_below(db, table, which, each);

	return rc ? rc : each(db, table, which);
}
