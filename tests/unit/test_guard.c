/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor access */
/* The guard's limits on a connection, and that it removes them afterwards. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/rules/guard.h"

enum { LIMITS = SQLITE_LIMIT_WORKER_THREADS + 1 };

static struct guard_budget budget(void)
{
	return (struct guard_budget){.cpu_ns = 500000000, .text_bytes = 1 << 20};
}

static int begin(void **state)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return -1;
	*state = db;
	/* As in the analysis: temporary data is in memory, not in files. */
	return sqlite3_exec(db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
}

static int end(void **state)
{
	return sqlite3_close(*state);
}

/* The first value of a query, or its error. */
static int ask(sqlite3 *db, const char *sql, char *ret, size_t size)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		snprintf(ret, size, "%s", text ? text : "NULL");
	}
	sqlite3_finalize(stmt);
	return rc;
}

static void look(sqlite3 *db, int64_t ret[LIMITS + 2])
{
	for (int i = 0; i < LIMITS; i++)
		ret[i] = sqlite3_limit(db, i, -1);
	ret[LIMITS] = sqlite3_soft_heap_limit64(-1);
	ret[LIMITS + 1] = sqlite3_hard_heap_limit64(-1);
}

static void assert_same(const int64_t a[LIMITS + 2], const int64_t b[LIMITS + 2])
{
	for (int i = 0; i < LIMITS + 2; i++)
		if (a[i] != b[i])
			fail_msg("limit %d is %lld, was %lld", i, (long long)b[i], (long long)a[i]);
}

/* Without limits before, and with limits lower than the guard's. */
static void test_gives_back(void **state)
{
	static const int64_t heaps[][2] = {{0, 0}, {0, 300 << 20}, {8 << 20, 40 << 20}};
	sqlite3 *db = *state;
	char text[64];

	for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		struct guard_budget b = budget();
		struct guard g = {0};
		int64_t before[LIMITS + 2], inside[LIMITS + 2], after[LIMITS + 2];

		sqlite3_limit(db, SQLITE_LIMIT_LENGTH, i ? 1000 : 1000000);
		sqlite3_hard_heap_limit64(heaps[i][1]);
		sqlite3_soft_heap_limit64(heaps[i][0]);
		look(db, before);
		assert_int_equal(guard_enter(&g, db, 1000000, &b), 0);
		look(db, inside);
		for (int l = 0; l < LIMITS; l++)
			assert_true(inside[l] <= before[l]);
		assert_int_equal(inside[SQLITE_LIMIT_LENGTH], i ? 1000 : GUARD_LENGTH_MAX);
		assert_true(inside[LIMITS + 1] > 0);
		assert_true(!heaps[i][1] || inside[LIMITS + 1] <= heaps[i][1]);
		assert_int_equal(ask(db, "CREATE TABLE x (y)", text, sizeof(text)), SQLITE_AUTH);
		guard_leave(&g);
		look(db, after);
		assert_same(before, after);
	}
	sqlite3_hard_heap_limit64(0);
	sqlite3_soft_heap_limit64(0);
	assert_int_equal(ask(db, "CREATE TABLE x (y)", text, sizeof(text)), SQLITE_DONE);
}

static void test_own_rules(void **state)
{
	int64_t before[LIMITS + 2], inside[LIMITS + 2];
	struct guard g = {0};

	look(*state, before);
	assert_int_equal(guard_enter(&g, *state, 1000000, NULL), 0);
	look(*state, inside);
	assert_same(before, inside);
	guard_leave(&g);
}

/* A rule gets half of the remaining memory, and an open transaction survives. */
static void test_stops(void **state)
{
	static const struct {
		const char *sql;
		enum guard_stop stopped;
	} table[] = {
		{"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) "
		 "FROM c",
		 GUARD_TIME},
		{"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
		 "length(json_group_array(hex(hex(hex(hex(hex(x))))))) FROM c",
		 GUARD_MEMORY},
		{"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
		 "count(DISTINCT hex(hex(hex(hex(hex(x)))))) FROM c",
		 GUARD_MEMORY},
	};
	sqlite3 *db = *state;
	char text[64];

	assert_int_equal(sqlite3_exec(db, "BEGIN; CREATE TEMP TABLE kept (x)", NULL, NULL, NULL),
			 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct guard_budget b = {.cpu_ns = 60ULL * 1000000000};
		struct guard g = {0};

		if (table[i].stopped == GUARD_TIME)
			b = budget();
		assert_int_equal(guard_enter(&g, db, UINT64_MAX, &b), 0);
		assert_int_equal(ask(db, table[i].sql, text, sizeof(text)), SQLITE_INTERRUPT);
		assert_int_equal(g.stopped, table[i].stopped);
		guard_leave(&g);
		if (table[i].stopped == GUARD_TIME)
			assert_in_range(b.cpu_ns, 1, budget().cpu_ns / 2);
		assert_int_equal(ask(db, "SELECT count(*) FROM kept", text, sizeof(text)),
				 SQLITE_ROW);
	}
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), 0);
}

/* printf() in a site's rule gives the same text as SQLite's own. */
static void test_format(void **state)
{
	static const char *const calls[] = {
		"printf('%d of %,d, %5.1f %%, %s, %-8s|%08.3f', 3, 1234567, 2.25, 'a', 'b', -1.5)",
		"format('%*.*f|%-*d|%+d|% d|%!.15g', 9, 2, 1.005, 6, 7, 8, 9, 0.1)",
		"printf('%c%5c%-5c|', 'xyz', 'b', 'c')",
		"printf('%q %Q %w %x %X %o %e %g %u %i', 'it''s', NULL, 'a\"b', 255, 255, 8, 1.5, "
		"1e100, -1, 1.9)",
		"printf('%s %d %s', 1)",
		"printf(NULL)",
		"printf('')",
		"printf('%lld %ld %.3s %!.2s %', 9007199254740993, 5, 'abcdef', 'äöü')",
		"printf(x'2564', '12abc')",
		"printf()",
	};
	static const char *const refused[] = {
		"printf('%.9c', 'x')",	     "format('%.*c', 2147483647, 'x')",
		"printf('%-5.99lc', 'x')",   "printf('a%%b%0.2147483647c', 'x')",
		"printf('%' || '.3c', 'x')", "printf('%5.2147483647llc', 'x')",
	};
	sqlite3 *db = *state;
	struct guard_budget b = budget();
	struct guard g = {0};
	char sql[512], want[512], got[512];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int rc;

		snprintf(sql, sizeof(sql), "SELECT %s", calls[i]);
		rc = ask(db, sql, want, sizeof(want));
		assert_int_equal(guard_enter(&g, db, 1000000, &b), 0);
		assert_int_equal(ask(db, sql, got, sizeof(got)), rc);
		assert_string_equal(got, want);
		guard_leave(&g);
		sqlite3_close(db);
		assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
		*state = db;
	}
	assert_int_equal(guard_enter(&g, db, 1000000, &b), 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT %s", refused[i]);
		assert_int_equal(ask(db, sql, got, sizeof(got)), SQLITE_ERROR);
		assert_non_null(strstr(sqlite3_errmsg(db), "cannot repeat a character"));
	}
	guard_leave(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_gives_back, begin, end),
		cmocka_unit_test_setup_teardown(test_own_rules, begin, end),
		cmocka_unit_test_setup_teardown(test_stops, begin, end),
		cmocka_unit_test_setup_teardown(test_format, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
