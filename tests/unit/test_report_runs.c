/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account util */
/* The verb itself. */
#include "fixtures/report/verb.h"

static struct run run(struct fixture *f, const char *const args[])
{
	return verb_run(cmd_runs, f, args);
}

static void assert_rejected(struct fixture *f, int status, const char *word,
			    const char *const args[])
{
	verb_refuses(cmd_runs, f, status, word, args);
}

static void usage(void **state)
{
	struct fixture *f = *state;

	assert_rejected(f, 2, "requires an argument", ARGS("--db"));
	assert_rejected(f, 2, "needs a name", ARGS("--db", ""));
	assert_rejected(f, 2, "unrecognized option", ARGS("--bogus"));
	assert_rejected(f, 2, "x\\x1b[1m", ARGS("x\x1b[1m"));
	assert_rejected(f, 2, "doesn't allow an argument", ARGS("--json=1"));
}

static void failures(void **state)
{
	struct fixture *f = *state;

	assert_rejected(f, 1, "no database", ARGS("--db", "/nonexistent/x.db"));
	assert_rejected(f, 1, "is a directory", ARGS("--db", f->dir));
	fixture_sql(f, "PRAGMA user_version = 900");
	assert_rejected(f, 1, "newer cachemon", ARGS("--db", "@db", "--json"));
}

static void lists(void **state)
{
	struct fixture *f = *state;
	struct run r;

	fixture_sql(f, "UPDATE run SET id = 41");
	fixture_sql(f, "UPDATE job SET run_id = 41, lookups = 1000, misses = 250");
	r = run(f, ARGS("--db", "@db"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, " 41 "));
	assert_non_null(strstr(r.out, "75.0 %"));
	run_free(&r);
	r = run(f, ARGS("--db", "@db", "--json"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "\"id\": 41,"));
	run_free(&r);
	fixture_sql(f, "DELETE FROM job; DELETE FROM run");
	r = run(f, ARGS("--db", "@db", "--json"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "\"runs\": []"));
	run_free(&r);
	r = run(f, ARGS("--db", "@db"));
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, ": 0 runs, "));
	run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(usage, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(failures, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(lists, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
