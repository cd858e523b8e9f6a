/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/job/command_exec.h"

static void environment(void **state)
{
	static const struct {
		const char *in, *switched; /* NULL: dropped */
	} rows[] = {
		{"PATH=/usr/sbin:/usr/bin", "PATH=/usr/sbin:/usr/bin"},
		{"HOME=/root", "HOME=/home/u"},
		{"HOME=/custom", "HOME=/custom"},
		{"USER=root", "USER=u"},
		{"LOGNAME=root", "LOGNAME=u"},
		{"USER=u2", "USER=u2"},
		{"SHELL=/bin/rsh", "SHELL=/bin/ush"},
		{"SHELL=/bin/zsh", "SHELL=/bin/zsh"},
		{"MAIL=/var/mail/root", NULL},
		{"MAIL=/var/mail/u", "MAIL=/var/mail/u"},
		{"SUDO_COMMAND=x", NULL},
		{"SUDO_UID=1", NULL},
		{"SUDO_GID=1", NULL},
		{"SUDO_USER=u", NULL},
		{"SUDO_HOME=/home/u", NULL},
		{"SUDO_TTY=/dev/pts/0", NULL},
		{"SUDO_ASKPASS=/x", "SUDO_ASKPASS=/x"},
		{"SUDO_UIDX=1", "SUDO_UIDX=1"},
		{"HOMEX=/root", "HOMEX=/root"},
		{"BAD", "BAD"},
		{"=", "="},
		{"X=a\n\xff=b", "X=a\n\xff=b"},
	};
	struct invoker inv = {.name = "u", .home = "/home/u", .shell = "/bin/ush"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *const env[] = {(char *)rows[i].in, "LAST=1", NULL};
		char **out = NULL;

		inv.switched = true;
		assert_int_equal(command_exec_env(env, &inv, "/root", "/bin/rsh", NULL, &out), 0);
		if (rows[i].switched)
			assert_string_equal(out[0], rows[i].switched);
		assert_string_equal(out[rows[i].switched ? 1 : 0], "LAST=1");
		assert_null(out[rows[i].switched ? 2 : 1]);
		command_exec_env_free(out);
		inv.switched = false;
		assert_int_equal(command_exec_env(env, &inv, "/root", "/bin/rsh", NULL, &out), 0);
		assert_string_equal(out[0], rows[i].in);
		assert_string_equal(out[1], "LAST=1");
		assert_null(out[2]);
		command_exec_env_free(out);
	}
}

/* Replaces the variable of that name and no other. */
static void added_variable(void **state)
{
	char *const env[] = {"MARKS=old", "MARKSX=1", "X=MARKS=2", NULL};
	struct invoker inv = {.name = "u"};
	char **out = NULL;

	assert_int_equal(command_exec_env(env, &inv, "/root", "/bin/sh", "MARKS=new", &out), 0);
	assert_string_equal(out[0], "MARKSX=1");
	assert_string_equal(out[1], "X=MARKS=2");
	assert_string_equal(out[2], "MARKS=new");
	assert_null(out[3]);
	command_exec_env_free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment),
		cmocka_unit_test(added_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
