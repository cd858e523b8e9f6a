/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: db */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <cmocka.h>

#include "cachemon/db/db_rows.h"

static int setup(void **state)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (5), (7), (NULL)",
			 NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	*state = db;
	return 0;
}

static int teardown(void **state)
{
	return sqlite3_close(*state) == SQLITE_OK ? 0 : -1;
}

static void first(void **state)
{
	int64_t v = -3;

	assert_int_equal(rows_first(*state, "SELECT a FROM t WHERE a > 9", &v), SQLITE_OK);
	assert_int_equal(v, -3);
	assert_int_equal(rows_first(*state, "SELECT b FROM t", &v), SQLITE_ERROR);
	/* An error at the first row is reported too. */
	assert_int_equal(rows_first(*state, "SELECT abs(-9223372036854775807 - 1)", &v),
			 SQLITE_ERROR);
	assert_int_equal(v, -3);
	assert_int_equal(rows_first(*state, "SELECT a FROM t ORDER BY a DESC", &v), SQLITE_OK);
	assert_int_equal(v, 7);
}

static void total(void **state)
{
	assert_int_equal(rows_total(*state, "SELECT count(*) FROM t", 0), 4);
	assert_int_equal(rows_total(*state, "SELECT count(*) FROM t WHERE a >= ?1", 5), 2);
	assert_int_equal(rows_total(*state, "SELECT ?1 FROM t WHERE a = 9", 1), 0);
	assert_int_equal(rows_total(*state, "SELECT -2", 0), 0);
	assert_int_equal(rows_total(*state, "SELECT count(*) FROM absent WHERE a = ?1", 1), 0);
}

/* More rows than were counted, or than there is room for, are an error. */
static void more_than_counted(void **state)
{
	static const struct {
		size_t room;
		size_t read;
		int end;
	} cases[] = {{5, 4, 0}, {4, 4, 0}, {3, 3, -EIO}, {0, 0, -EIO}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena a = {0};
		struct rows r = rows_begin(*state, &a, "SELECT a FROM t", 0, NULL);
		size_t nr = 0;

		while (rows_next_of(&r, nr, cases[i].room))
			nr++;
		assert_int_equal(nr, cases[i].read);
		assert_int_equal(rows_finish(&r), cases[i].end);
		arena_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first),
		cmocka_unit_test(total),
		cmocka_unit_test(more_than_counted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
