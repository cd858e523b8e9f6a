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
	char *argv[16] = {(char *)"runs"};
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
		exit(cmd_runs(argc, argv));
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
		cmocka_unit_test_setup_teardown(usage, begin, end),
		cmocka_unit_test_setup_teardown(failures, begin, end),
		cmocka_unit_test_setup_teardown(lists, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
