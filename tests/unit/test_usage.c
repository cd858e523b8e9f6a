/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account access */
/* Command lines: help wherever it is requested, misspelled options, "-" for standard output. */
#include "fixtures/report/verb.h"

#include "cachemon/cmd/spec.h"

static void assert_help(struct fixture *f, const struct verb_spec *v, const char *const args[])
{
	struct run r = verb_run(v->run, f, args);
	char begin[64];

	snprintf(begin, sizeof(begin), "cachemon %s: ", v->name);
	assert_int_equal(r.status, 0);
	assert_string_equal(r.err, "");
	assert_memory_equal(r.out, begin, strlen(begin));
	assert_non_null(strstr(r.out, "EXAMPLES\n  "));
	run_free(&r);
}

static void help_of_every_verb(void **state)
{
	size_t nr = 0;
	const struct verb_spec *const *verbs = verbs_all(&nr);

	for (size_t i = 0; i < nr; i++) {
		if (verbs[i]->hidden)
			continue;
		assert_help(*state, verbs[i], ARGS("-h"));
		assert_help(*state, verbs[i], ARGS("--help"));
		assert_help(*state, verbs[i], ARGS("--hel"));
		assert_help(*state, verbs[i], ARGS("-?"));
		/* Whatever else is on the line, even errors. */
		assert_help(*state, verbs[i], ARGS("one", "two", "three", "--no-such", "-z", "-h"));
	}
}

/* A value of an option is not a request for help, and neither are CMD's own words. */
static void not_help(void **state)
{
	verb_refuses(cmd_report, *state, 1, "no database", ARGS("--db", "-h"));
	verb_refuses(cmd_watch, *state, 2, "--level", ARGS("--level", "x", "--", "true", "-h"));
	verb_refuses(cmd_report, *state, 2, "doesn't allow an argument", ARGS("--help=1"));
}

static void near_misses(void **state)
{
	verb_refuses(cmd_report, *state, 2, "'--frmat'; did you mean '--format'?",
		     ARGS("--frmat", "json"));
	verb_refuses(cmd_report, *state, 2, "'--ouptut'; did you mean '--output'?",
		     ARGS("--ouptut=x"));
	verb_refuses(cmd_watch, *state, 2, "'--internal'; did you mean '--interval'?",
		     ARGS("--internal", "1s", "--", "true"));
	verb_refuses(cmd_watch, *state, 2, "'--hlep'; did you mean '--help'?", ARGS("--hlep"));
	verb_refuses(cmd_report, *state, 2, "unrecognized option '--wholly-else'\n",
		     ARGS("--wholly-else"));
	/* getopt takes a value that looks like an option: the file "--frmat". */
	verb_refuses(cmd_report, *state, 1, "no database", ARGS("--db", "--frmat"));
}

static void to_standard_output(void **state)
{
	struct fixture *f = *state;
	struct run plain = verb_run(cmd_report, f, ARGS("--db", "@db", "--json"));
	struct run same =
		verb_run(cmd_report, f, ARGS("--db", "@db", "--format", "json", "-o", "-"));
	struct run text = verb_run(cmd_report, f, ARGS("--db", "@db", "-o", "-"));

	assert_int_equal(plain.status, 0);
	assert_memory_equal(plain.out, "{\n  \"schema\": 1,", 15);
	assert_string_equal(plain.out, same.out);
	assert_memory_equal(text.out, "cachemon report: ", 17);
	assert_int_equal(access("-", F_OK), -1);
	run_free(&plain);
	run_free(&same);
	run_free(&text);
}

static void not_through_a_pipe(void **state)
{
	verb_refuses(cmd_report, *state, 2, "'-'", ARGS("--db", "-"));
	verb_refuses(cmd_watch, *state, 2, "'-'", ARGS("--db", "-", "--", "true"));
	verb_refuses(cmd_watch, *state, 2, "'-'", ARGS("--report", "-", "--", "true"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(help_of_every_verb, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(not_help, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(near_misses, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(to_standard_output, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(not_through_a_pipe, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
