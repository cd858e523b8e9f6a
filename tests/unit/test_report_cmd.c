/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account util */
/* The verb itself, in a child: argp leaves by exit(). */
#include "fixtures/report/fixture.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "cmd/cmd.h"

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	fixture_begin(f);
	fixture_run(f);
	*state = f;
	return 0;
}

static int end(void **state)
{
	fixture_end(*state);
	free(*state);
	return 0;
}

struct run {
	int status;
	char *out;
	char *err;
};

static struct run run(struct fixture *f, const char *const args[])
{
	struct run ret = {0};
	char *argv[16] = {(char *)"report"};
	char values[16][160];
	char out[128];
	char err[128];
	int status = 0;
	int argc = 1;
	pid_t pid = 0;

	for (const char *const *arg = args; *arg && argc < 15; arg++, argc++) {
		bool db = !strcmp(*arg, "@db");

		snprintf(values[argc], sizeof(values[argc]), "%s", db ? f->db : *arg);
		argv[argc] = values[argc];
	}
	snprintf(out, sizeof(out), "%s/stdout", f->dir);
	snprintf(err, sizeof(err), "%s/stderr", f->dir);
	pid = fork();
	if (pid == 0) {
		assert_non_null(freopen(out, "w", stdout));
		assert_non_null(freopen(err, "w", stderr));
		exit(cmd_report(argc, argv));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	ret.status = WEXITSTATUS(status);
	ret.out = fixture_read(out, NULL);
	ret.err = fixture_read(err, NULL);
	if (!ret.out || !ret.err)
		abort();
	return ret;
}

static void run_free(struct run *r)
{
	free(r->out);
	free(r->err);
}

/* Nothing on stdout, a word of why on stderr. */
static void assert_rejected(struct fixture *f, int status, const char *word,
			    const char *const args[])
{
	struct run r = run(f, args);

	if (r.status != status || !strstr(r.err, word))
		fail_msg("%s %s: status %d, %s", args[0], args[0] ? args[1] : "", r.status, r.err);
	assert_string_equal(r.out, "");
	for (const char *p = r.err; *p; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
	run_free(&r);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

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
	assert_rejected(f, 2, "--db", ARGS("run.db"));
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
		cmocka_unit_test_setup_teardown(usage, begin, end),
		cmocka_unit_test_setup_teardown(usage_writes_nothing, begin, end),
		cmocka_unit_test_setup_teardown(failures, begin, end),
		cmocka_unit_test_setup_teardown(formats, begin, end),
		cmocka_unit_test_setup_teardown(default_database, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
