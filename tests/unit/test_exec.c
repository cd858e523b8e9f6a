/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run_command.h"
#include "scratch.h"

/* The command is found in a later directory of PATH, after one in which it is not executable and
 * after directories that do not exist or cannot be searched. */
static void search_path(const struct scratch *s)
{
	const char *const argv[] = {"plain", NULL};
	char *saved = strdup(getenv("PATH")), path[3 * PATH_MAX], text[16], good[PATH_MAX];
	struct command *c;
	int out;

	scratch_write(s, "good/plain", "echo good\n");
	scratch_mkdir(s, "locked/");
	chmod(scratch_path(s, "locked", good), 0);
	snprintf(path, sizeof(path), "%s/none:%s/locked:%s", s->dir, s->dir, s->dir);
	setenv("PATH", path, 1);
	c = prepare(argv, &self, &out);
	assert_int_equal(command_go(c, NULL), -EACCES);
	assert_int_equal(ended_status(c), 126);
	command_free(c);
	close(out);
	snprintf(path + strlen(path), PATH_MAX, ":%s/good:%s", s->dir, saved);
	setenv("PATH", path, 1);
	chmod(scratch_path(s, "good/plain", good), 0755);
	assert_int_equal(run(argv, &self, text, sizeof(text)), 0);
	assert_string_equal(text, "good\n");
	setenv("PATH", saved, 1);
	free(saved);
	chmod(scratch_path(s, "locked", good), 0700);
}

static void cannot_run(void **state)
{
	char none[PATH_MAX], plain[PATH_MAX], script[PATH_MAX];
	struct scratch s;

	scratch_new(&s);
	scratch_write(&s, "plain", "echo ran\n");
	scratch_write(&s, "script", "#!/nonexistent/interpreter\n");
	chmod(scratch_path(&s, "script", script), 0755);
	scratch_path(&s, "plain", plain);
	scratch_path(&s, "none", none);
	const struct {
		const char *name;
		int status;
		int err;
		const char *text;
	} rows[] = {
		{"cachemon-no-such-command", 127, -ENOENT, "no such command in PATH"},
		{"", 127, -ENOENT, "no such command in PATH"},
		{none, 127, -ENOENT, "no such file"},
		{script, 127, -ENOENT, "its interpreter does not exist"},
		{plain, 126, -EACCES, "Permission denied"},
		{s.dir, 126, -EACCES, "Permission denied"},
		{"/proc/self/status/x", 126, -ENOTDIR, "Not a directory"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const argv[] = {rows[i].name, NULL};
		struct errtext err = {""};
		struct command *c;
		char text[16];
		int out;

		c = prepare(argv, &self, &out);
		assert_int_equal(command_go(c, &err), rows[i].err);
		if (!strstr(err.text, rows[i].text) || strchr(err.text, '\n'))
			fail_msg("'%s': %s", rows[i].name, err.text);
		assert_int_equal(ended_status(c), rows[i].status);
		read_all(out, text, sizeof(text));
		assert_string_equal(text, "");
		command_free(c);
	}
	search_path(&s);
	/* A script without "#!" is run by sh, as in a shell. */
	chmod(plain, 0755);
	{
		const char *const argv[] = {plain, NULL};
		char text[16];

		assert_int_equal(run(argv, &self, text, sizeof(text)), 0);
		assert_string_equal(text, "ran\n");
	}
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cannot_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
