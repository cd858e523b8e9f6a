/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account access */
/* Tests of the verb itself. */
#include "fixtures/report/verb.h"

static struct run run(struct fixture *f, const char *const args[])
{
	return verb_run(cmd_report, f, args);
}

static void assert_rejected(struct fixture *f, int status, const char *word,
			    const char *const args[])
{
	verb_refuses(cmd_report, f, status, word, args);
}

static void usage(void **state)
{
	struct fixture *f = *state;

	assert_rejected(f, 2, "--run", ARGS("--run", "abc"));
	assert_rejected(f, 2, "--run", ARGS("--run", "-1"));
	assert_rejected(f, 2, "--run", ARGS("--run", "1x"));
	assert_rejected(f, 2, "--run", ARGS("--run", ""));
	assert_rejected(f, 2, "--run", ARGS("--run", "9223372036854775808"));
	assert_rejected(f, 2, "--files", ARGS("--files", "99999999999999999999"));
	assert_rejected(f, 2, "--files", ARGS("--files", "1.5"));
	assert_rejected(f, 2, "--files", ARGS("--files", "-1"));
	assert_rejected(f, 2, "--files", ARGS("--files", "0x10"));
	assert_rejected(f, 2, "--format", ARGS("--format", "pdf"));
	assert_rejected(f, 2, "--format", ARGS("--format", "JSON"));
	assert_rejected(f, 2, "\\x1b[31m", ARGS("--format", "\x1b[31m"));
	assert_rejected(f, 2, "requires an argument", ARGS("--db"));
	assert_rejected(f, 2, "requires an argument", ARGS("-o"));
	assert_rejected(f, 2, "empty", ARGS("--db", ""));
	assert_rejected(f, 2, "empty", ARGS("--db", "@db", "-o", ""));
	assert_rejected(f, 2, "empty", ARGS("--db", "@db", "--job", ""));
	assert_rejected(f, 2, "unrecognized option", ARGS("--bogus"));
	assert_rejected(f, 2, "two databases, 'a.db' and 'b.db'", ARGS("a.db", "b.db"));
	assert_rejected(f, 2, "two databases, 'a.db' and 'b.db'", ARGS("--db", "a.db", "b.db"));
	assert_rejected(f, 2, "two databases, 'a.db' and 'b.db'", ARGS("b.db", "--db", "a.db"));
	assert_rejected(f, 2, "empty", ARGS(""));
	assert_rejected(f, 2, "--full or --brief", ARGS("--full", "--brief"));
	assert_rejected(f, 2, "--brief is text", ARGS("--brief", "--json"));
}

static void usage_writes_nothing(void **state)
{
	struct fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/out.pdf", f->dir);
	assert_rejected(f, 2, ".yaml", ARGS("--db", "@db", "-o", path));
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/out.html", f->dir);
	assert_rejected(f, 2, "--run", ARGS("--db", "@db", "-o", path, "--run", "x"));
	assert_int_equal(access(path, F_OK), -1);
}

static void failures(void **state)
{
	struct fixture *f = *state;

	assert_rejected(f, 1, "no database", ARGS("--db", "/nonexistent/x.db"));
	assert_rejected(f, 1, "is a directory", ARGS("--db", f->dir));
	assert_rejected(f, 1, "not a regular file", ARGS("--db", "/dev/null"));
	assert_rejected(f, 1, "no run 5. The database holds 1 run",
			ARGS("--db", "@db", "--run", "5"));
	assert_rejected(f, 1, "it has 'train', '(others)'", ARGS("--db", "@db", "--job", "x"));
	assert_rejected(f, 1, "cannot write", ARGS("--db", "@db", "-o", "/nonexistent/x.html"));
	assert_rejected(f, 1, "its own database",
			ARGS("--db", "@db", "--format", "json", "-o", "@db"));
	assert_rejected(f, 1, "No space left",
			ARGS("--db", "@db", "--format", "json", "-o", "/dev/full"));
}

static void formats(void **state)
{
	static const struct {
		const char *format, *begin;
	} table[] = {
		{"text", "cachemon report: train, run 1 on node\n===="},
		{"md", "# cachemon report: train"},
		{"html", "<!DOCTYPE html>"},
		{"json", "{\n  \"schema\": 1,"},
		{"csv", "scope,job,path,"},
		{"yaml", "schema: 1\n"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct run r = run(f, ARGS("--db", "@db", "--format", table[i].format));
		char path[128];
		char *text = NULL;

		assert_int_equal(r.status, 0);
		assert_string_equal(r.err, "");
		assert_memory_equal(r.out, table[i].begin, strlen(table[i].begin));
		snprintf(path, sizeof(path), "%s/r.%s", f->dir,
			 strcmp(table[i].format, "text") ? table[i].format : "txt");
		struct run w = run(f, ARGS("--db", "@db", "--run", "last", "-o", path));

		assert_int_equal(w.status, 0);
		assert_string_equal(w.out, "");
		text = fixture_read(path, NULL);
		assert_string_equal(text, r.out);
		free(text);
		run_free(&r);
		run_free(&w);
	}
}

/* As with --db; in a pipe the text is complete, unless a screen is requested. */
static void operand(void **state)
{
	struct fixture *f = *state;
	struct run whole = run(f, ARGS("--db", "@db"));
	struct run same = run(f, ARGS("@db"));
	struct run full = run(f, ARGS("@db", "--full"));
	struct run brief = run(f, ARGS("@db", "--brief"));
	char command[256];

	snprintf(command, sizeof(command), "cachemon report --db %s --full", f->db);
	assert_int_equal(same.status, 0);
	assert_string_equal(same.out, whole.out);
	assert_string_equal(full.out, whole.out);
	assert_memory_equal(brief.out, "cachemon: run 1, job train", 26);
	assert_non_null(strstr(brief.out, command));
	assert_null(strstr(whole.out, command));
	run_free(&whole);
	run_free(&same);
	run_free(&full);
	run_free(&brief);
}

static void default_database(void **state)
{
	struct fixture *f = *state;
	struct run r;

	setenv("CACHEMON_DB", f->db, 1);
	r = run(f, ARGS("--run", "1"));
	assert_int_equal(r.status, 0);
	run_free(&r);
	unsetenv("CACHEMON_DB");
	setenv("XDG_STATE_HOME", f->dir, 1);
	assert_rejected(f, 1, "/cachemon/cachemon.db", ARGS("--run", "1"));
	unsetenv("XDG_STATE_HOME");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(usage, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(usage_writes_nothing, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(failures, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(formats, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(operand, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(default_database, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
