/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: each query that the program prepares, including those that fill its own tables,
 * is appended to the file PREPARED as run by SQLite: the text, a unit separator, the lines "opcode
 * p1 p2 p3" of EXPLAIN, a record separator.
 */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int prepare_fn(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);

static void tell(FILE *to, sqlite3 *db, const char *text, prepare_fn *prepare)
{
	char *sql = sqlite3_mprintf("EXPLAIN %s", text);
	sqlite3_stmt *stmt = NULL;

	if (!sql || prepare(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sqlite3_errmsg(db), text);
		abort();
	}
	fprintf(to, "%s\x1f", text);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		fprintf(to, "%s %d %d %d\n", (const char *)sqlite3_column_text(stmt, 1),
			sqlite3_column_int(stmt, 2), sqlite3_column_int(stmt, 3),
			sqlite3_column_int(stmt, 4));
	fputc('\x1e', to);
	fflush(to);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

/* A database in memory is made by the program, and has no rows of a run. */
static int has_file(sqlite3 *db)
{
	const char *name = sqlite3_db_filename(db, "main");

	return name && *name;
}

int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **ret,
		       const char **tail)
{
	static prepare_fn *prepare;
	static FILE *to;
	int rc;

	if (!prepare) {
		prepare = (prepare_fn *)dlsym(RTLD_NEXT, "sqlite3_prepare_v2");
		to = fopen(getenv("PREPARED"), "ae");
		if (!prepare || !to)
			abort();
	}
	rc = prepare(db, sql, bytes, ret, tail);
	/* SQLite's own reads of the schema have no text. */
	if (rc == SQLITE_OK && has_file(db) && sqlite3_sql(*ret) &&
	    (sqlite3_stmt_readonly(*ret) || !strncmp(sqlite3_sql(*ret), "INSERT", 6)))
		tell(to, db, sqlite3_sql(*ret), prepare);
	return rc;
}
