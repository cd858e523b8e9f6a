/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
/* Whose a process is, by the files of /proc: a real process, and invented ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <grp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/access/process_user.h"
#include "scratch.h"

static bool is_user(const char *status)
{
	struct scratch s;
	char path[PATH_MAX];
	bool is;
	FILE *f;

	scratch_new(&s);
	scratch_path(&s, "7", path);
	assert_int_equal(mkdir(path, 0755), 0);
	scratch_path(&s, "7/status", path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(status, f);
	fclose(f);
	is = process_user_is(s.dir, 7, 1000);
	assert_false(process_user_is(s.dir, 8, 1000));
	scratch_free(&s);
	return is;
}

#define NAME "Name:\tx Uid:\\n1\n"
#define CAPS "CapInh:\t0000000000000000\nCapPrm:\t%s\nCapEff:\t0000000000000000\n"

static void test_invented(void **state)
{
	static const struct {
		const char *uid, *gid, *caps;
		bool is;
	} cases[] = {
		{"1000\t1000\t1000\t1000", "5\t5\t5\t5", "0000000000000000", true},
		{"1000\t0\t1000\t1000", "5\t5\t5\t5", "0000000000000000", false},
		{"1000\t1000\t0\t1000", "5\t5\t5\t5", "0000000000000000", false},
		{"1000\t1000\t1000\t0", "5\t5\t5\t5", "0000000000000000", false},
		{"0\t1000\t1000\t1000", "5\t5\t5\t5", "0000000000000000", false},
		{"1001\t1001\t1001\t1001", "5\t5\t5\t5", "0000000000000000", false},
		{"1000\t1000\t1000\t1000", "5\t42\t42\t42", "0000000000000000", false},
		{"1000\t1000\t1000\t1000", "5\t5\t5\t5", "0000000000000004", false},
		{"1000\t1000\t1000\t1000", "5\t5\t5\t5", "000001ffffffffff", false},
		{"1000\t1000", "5\t5\t5\t5", "0000000000000000", false},
	};
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), NAME "Uid:\t%s\nGid:\t%s\n" CAPS, cases[i].uid,
			 cases[i].gid, cases[i].caps);
		if (is_user(text) != cases[i].is)
			fail_msg("%s", text);
	}
	assert_false(is_user(""));
	assert_false(is_user("Name:\tx\nUid:\t1000\t1000\t1000\t1000\nGid:\t5\t5\t5\t5\n"));
}

/* A child that becomes another user, and one that keeps a way back to root. */
static void test_real(void **state)
{
	for (int back = 0; back < 2; back++) {
		int pipes[2], status;
		char byte;
		pid_t pid;

		if (geteuid()) {
			print_message("only root can become another user\n");
			skip();
		}
		assert_int_equal(pipe(pipes), 0);
		pid = fork();
		if (!pid) {
			if (setgroups(0, NULL) || setresgid(1000, 1000, 1000) ||
			    setresuid(1000, 1000, back ? 0 : 1000) || write(pipes[1], "", 1) != 1)
				_exit(1);
			pause();
		}
		assert_int_equal(read(pipes[0], &byte, 1), 1);
		assert_int_equal(process_user_is("/proc", pid, 1000), !back);
		assert_false(process_user_is("/proc", pid, 0));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		close(pipes[0]);
		close(pipes[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invented),
		cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
