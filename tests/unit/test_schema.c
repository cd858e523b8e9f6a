/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account */
/* The schema, compared with the table of counters and with what the store relies on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "cachemon/figures/counters.h"
#include "cachemon/store/migrate.h"

static int apply(sqlite3 *db, const char *path)
{
	static char text[1 << 17];
	FILE *f = fopen(path, "re");
	size_t len;

	if (!f)
		return -1;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	return sqlite3_exec(db, text, NULL, NULL, NULL);
}

/* The migrations, in the order of their numbers. */
static int open_schema(void **state)
{
	sqlite3 *db = NULL;
	glob_t files;
	int r = glob(SOURCE_DIR "/sql/[0-9]*.sql", 0, NULL, &files) ||
		sqlite3_open(":memory:", &db);

	for (size_t i = 0; !r && i < files.gl_pathc; i++)
		r = apply(db, files.gl_pathv[i]);
	globfree(&files);
	if (r) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		sqlite3_close(db);
		return -1;
	}
	*state = db;
	return 0;
}

static int close_schema(void **state)
{
	return sqlite3_close(*state);
}

/* The database as a script, in the order in which its objects were made. */
static char *dump(sqlite3 *db)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL "
					    "AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		sqlite3_str_appendf(text, "\n%s;\n", sqlite3_column_text(stmt, 0));
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	return sqlite3_str_finish(text);
}

static int64_t ask_int(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* A new database gets the same tables from one script. */
static void test_whole_is_the_migrations(void **state)
{
	const char *path = SOURCE_DIR "/sql/schema.sql";
	sqlite3 *migrated = *state, *whole = NULL;
	char *want = dump(migrated), *have;

	if (getenv("UPDATE_GOLDEN")) {
		FILE *f = fopen(path, "we");

		assert_non_null(f);
		fprintf(f,
			"-- SPDX-License-Identifier: BSD-2-Clause\n"
			"-- Written by tests/unit/test_schema.c from the migrations: do not "
			"change.\n\n"
			"PRAGMA application_id = %d;\n%s",
			STORE_APPLICATION_ID, want);
		assert_int_equal(fclose(f), 0);
	}
	assert_int_equal(sqlite3_open(":memory:", &whole), SQLITE_OK);
	assert_int_equal(apply(whole, path), 0);
	have = dump(whole);
	assert_string_equal(have, want);
	assert_true(ask_int(whole, "PRAGMA application_id") ==
		    ask_int(migrated, "PRAGMA application_id"));
	/* The script has no rows, so the migrations may not insert any. */
	assert_int_equal(sqlite3_total_changes(migrated), 0);
	sqlite3_free(have);
	sqlite3_free(want);
	sqlite3_close(whole);
}

/* All counters, in order, are the last columns of the table: none more, none less. */
static void test_counters_are_the_columns(void **state)
{
	static const char *const tables[] = {
		"job",	      "directory",	    "file", "job_interval", "file_interval",
		"filesystem", "directory_interval", "mark"};
	sqlite3 *db = *state;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		sqlite3_stmt *stmt = NULL;
		char sql[128];
		int c = 0;

		snprintf(sql, sizeof(sql),
			 "SELECT name, type, \"notnull\" FROM pragma_table_info('%s')", tables[t]);
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(stmt, 0);

			int of = 0;

			while (of < C_NR && strcmp(name, counter_name(of)) != 0)
				of++;
			if (of == C_NR)
				continue;
			assert_string_equal(sqlite3_column_text(stmt, 1), "INTEGER");
			/* Not measured is NULL. */
			assert_int_equal(sqlite3_column_int(stmt, 2), 0);
			c++;
		}
		sqlite3_finalize(stmt);
		if (c != C_NR)
			fail_msg("%s has %d counters of %d", tables[t], c, C_NR);
	}
}

static void test_counts_cannot_be_negative(void **state)
{
	sqlite3 *db = *state;

	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA foreign_keys = OFF;"
				      "INSERT INTO directory (job_id, files, misses) "
				      "VALUES (1, 1, -1)",
				      NULL, NULL, NULL),
			 SQLITE_CONSTRAINT);
	/* Sums of increments and decrements can. */
	assert_int_equal(sqlite3_exec(db,
				      "INSERT INTO directory (job_id, files, resident_unused, "
				      "window_log2_3) VALUES (1, 1, -1, -1)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "INSERT INTO directory (job_id, misses) VALUES (1, 'many')",
				      NULL, NULL, NULL),
			 SQLITE_CONSTRAINT);
}

static void test_application_id(void **state)
{
	assert_int_equal(ask_int(*state, "PRAGMA application_id"), STORE_APPLICATION_ID);
}

/* Without an index in the child, each deleted parent row scans the whole child table. */
static void test_foreign_keys_have_indexes(void **state)
{
	sqlite3_stmt *stmt = NULL;
	int nr = 0;

	assert_int_equal(
		sqlite3_prepare_v2(*state,
				   "SELECT m.name, f.\"from\", "
				   "(SELECT count(*) FROM pragma_index_list(m.name) AS l, "
				   " pragma_index_info(l.name) AS i WHERE i.seqno = 0 "
				   " AND i.name = f.\"from\") "
				   "FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f "
				   "WHERE m.type = 'table' AND f.\"table\" IN ('file', 'interval', "
				   "'directory')",
				   -1, &stmt, NULL),
		SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		if (!sqlite3_column_int(stmt, 2))
			fail_msg("%s.%s has no index", sqlite3_column_text(stmt, 0),
				 sqlite3_column_text(stmt, 1));
		nr++;
	}
	sqlite3_finalize(stmt);
	assert_int_equal(nr, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole_is_the_migrations, open_schema,
						close_schema),
		cmocka_unit_test_setup_teardown(test_counters_are_the_columns, open_schema,
						close_schema),
		cmocka_unit_test_setup_teardown(test_counts_cannot_be_negative, open_schema,
						close_schema),
		cmocka_unit_test_setup_teardown(test_application_id, open_schema, close_schema),
		cmocka_unit_test_setup_teardown(test_foreign_keys_have_indexes, open_schema,
						close_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
