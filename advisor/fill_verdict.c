/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/fill.h"

#include <stddef.h>

#include "advisor/verdict.h"

static struct opt_i64 column(sqlite3_stmt *stmt, int i)
{
	struct opt_i64 v = {.known = sqlite3_column_type(stmt, i) == SQLITE_INTEGER};

	v.value = v.known ? sqlite3_column_int64(stmt, i) : 0;
	return v;
}

static int insert(sqlite3_stmt *stmt, int64_t id, enum verdict v, const char *why)
{
	sqlite3_reset(stmt);
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_text(stmt, 2, verdict_name(v), -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, why, -1, SQLITE_TRANSIENT);
	return sqlite3_step(stmt);
}

static void read_row(sqlite3_stmt *stmt, struct verdict_input *in)
{
	*in = (struct verdict_input){
		.kind = verdict_kind_of((const char *)sqlite3_column_text(stmt, 1)),
		.asked = column(stmt, 2),
		.brought = column(stmt, 3),
		.dropped = column(stmt, 4),
		.redundant = column(stmt, 5),
		.used = column(stmt, 6),
		.used_late = column(stmt, 7),
		.evicted_unused = column(stmt, 8),
		.dropped_refaults = column(stmt, 9),
		.cached = column(stmt, 10),
	};
}

int fill_verdict(sqlite3 *db, struct errtext *err)
{
	sqlite3_stmt *from = NULL;
	sqlite3_stmt *to = NULL;
	int rc = sqlite3_prepare_v2(
		db,
		"SELECT x.id, x.kind, x.pages_asked, x.pages_brought, x.pages_dropped, "
		"x.redundant_pages, x.used, x.used_late, x.evicted_unused, x.dropped_refaults, "
		"x.cached_pages "
		"FROM analysis_scope a JOIN job j ON j.run_id = a.run_id AND j.slot <> 0 "
		"JOIN advice x ON x.job_id = j.id",
		-1, &from, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO temp.analysis_verdict VALUES (?1, ?2, ?3)",
					-1, &to, NULL);
	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(from)) == SQLITE_ROW) {
			char why[VERDICT_WHY_MAX] = "";
			struct verdict_input in;

			read_row(from, &in);
			if (insert(to, sqlite3_column_int64(from, 0), verdict_of(&in, why), why) !=
			    SQLITE_DONE)
				break;
		}
	sqlite3_finalize(to);
	sqlite3_finalize(from);
	return rc == SQLITE_DONE ? 0 : fill_error(db, "verdicts", err);
}
