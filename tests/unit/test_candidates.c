/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account access */
/* Words for shell completions: raw names, one per line, and no output if there are none. */
#include "fixtures/report/verb.h"

static void assert_prints(struct fixture *f, int status, const char *out, const char *const args[])
{
	struct run r = verb_run(cmd_complete, f, args);

	assert_int_equal(r.status, status);
	assert_string_equal(r.out, out);
	assert_string_equal(r.err, "");
	run_free(&r);
}

static void runs_and_jobs(void **state)
{
	struct fixture *f = *state;

	setenv("TZ", "UTC", 1);
	assert_prints(f, 0, "last\tthe newest run\n1\ttrain, 2023-11-14 22:13\n",
		      ARGS("run", "--db", "@db"));
	fixture_sql(f, "UPDATE job SET name = 'a $(b) ''c''' WHERE id = 1");
	assert_prints(f, 0, "a $(b) 'c'\t1 run, the newest 1\n", ARGS("job", "--db", "@db"));
}

/* Names with control characters could be taken for two names, or for none. */
static void unseen_names(void **state)
{
	static const char *const names[] = {"''",
					    "'new' || char(10) || 'line'",
					    "'tab' || char(9)",
					    "'red' || char(27)",
					    "'rtl' || char(8238)",
					    "CAST(x'62FF' AS TEXT)"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fixture_sql(f, "UPDATE job SET name = %s WHERE id = 1", names[i]);
		assert_prints(f, 0, "", ARGS("job", "--db", "@db"));
	}
}

static void silence(void **state)
{
	struct fixture *f = *state;

	assert_prints(f, 1, "", ARGS("job", "--db", "/nonexistent/x.db"));
	assert_prints(f, 1, "", ARGS("job", "--db", "/dev/null"));
	assert_prints(f, 1, "last\tthe newest run\n", ARGS("run", "--db", "/nonexistent/x.db"));
}

static void findings(void **state)
{
	struct run r = verb_run(cmd_complete, *state, ARGS("finding"));

	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "\nprefetch-waste\t"));
	run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_and_jobs, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(unseen_names, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(silence, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(findings, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
