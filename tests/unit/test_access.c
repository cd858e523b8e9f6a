/* SPDX-License-Identifier: BSD-2-Clause */
/* Access as the invoker: the kernel refuses what the invoker may not do, and all changes are
 * undone afterwards.
 * LINK: access */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/access/privileges.h"

enum { NOBODY = 65534 };

static gid_t groups[] = {4242, NOBODY}; /* the kernel sorts groups */
static const struct invoker nobody = {
	.uid = NOBODY, .gid = NOBODY, .groups = groups, .nr_groups = 2, .switched = true};

static void need_root(void)
{
	if (geteuid()) {
		print_message("not root: there is nobody to act for\n");
		skip();
	}
}

struct identity {
	uid_t r, e, s;
	gid_t rg, eg, sg;
	uint64_t permitted, effective;
	int nr_groups;
	gid_t groups[64];
};

static struct identity now(void)
{
	struct identity id;

	memset(&id, 0, sizeof(id));
	assert_int_equal(getresuid(&id.r, &id.e, &id.s), 0);
	assert_int_equal(getresgid(&id.rg, &id.eg, &id.sg), 0);
	id.permitted = privileges_permitted();
	id.effective = privileges_effective();
	id.nr_groups = getgroups(64, id.groups);
	return id;
}

static void test_there_and_back(void **state)
{
	struct identity before, within, after;
	struct access saved;

	need_root();
	before = now();
	assert_int_equal(access_enter(&nobody, &saved), 0);
	within = now();
	access_leave(&saved);
	after = now();
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(within.r, 0);
	assert_int_equal(within.e, NOBODY);
	assert_int_equal(within.eg, NOBODY);
	assert_int_equal(within.effective, 0);
	assert_int_equal(within.nr_groups, 2);
	assert_memory_equal(within.groups, groups, sizeof(groups));
}

/* Capabilities that are not effective before are not effective afterwards. */
static void test_part_of_the_rights(void **state)
{
	const uint64_t some = PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) | PRIVILEGE(CAP_KILL);
	uint64_t all;
	struct access saved;

	need_root();
	all = privileges_effective();
	assert_int_equal(privileges_use(some), 0);
	assert_int_equal(access_enter(&nobody, &saved), 0);
	assert_int_equal(privileges_effective(), 0);
	access_leave(&saved);
	assert_int_equal(privileges_effective(), some);
	assert_int_equal(privileges_use(all), 0);
}

/* Without the right to set groups, nothing is changed. */
static void test_refused(void **state)
{
	struct identity before, after;
	struct access saved = {0};
	uint64_t all;

	need_root();
	all = privileges_effective();
	assert_int_equal(privileges_use(PRIVILEGE(CAP_SETUID)), 0);
	before = now();
	assert_int_equal(access_enter(&nobody, &saved), -EPERM);
	after = now();
	assert_int_equal(privileges_use(all), 0);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void test_root_alone(void **state)
{
	const struct invoker root = {.uid = 0};
	struct identity before, within;
	struct access saved;

	need_root();
	before = now();
	assert_int_equal(access_enter(&root, &saved), 0);
	within = now();
	access_leave(&saved);
	assert_memory_equal(&before, &within, sizeof(before));
}

/* Files of root and of its group, and a setting for which the kernel checks the effective user. */
static void test_what_is_refused(void **state)
{
	static const mode_t modes[] = {0600, 0660, 0640, 0400};
	struct scratch s;
	struct access saved;
	char path[PATH_MAX + 16];

	need_root();
	scratch_new(&s);
	assert_int_equal(chmod(s.dir, 0755), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%o", s.dir, modes[i]);
		fd = access_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600, ACCESS_REGULAR);
		assert_true(fd >= 0);
		assert_int_equal(fchmod(fd, modes[i]), 0);
		close(fd);
		assert_int_equal(access_enter(&nobody, &saved), 0);
		fd = access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR);
		access_leave(&saved);
		assert_int_equal(fd, -EACCES);
	}
	assert_int_equal(access_enter(&nobody, &saved), 0);
	assert_int_equal(
		access_open(AT_FDCWD, "/proc/sys/kernel/hostname", O_WRONLY, 0, ACCESS_REGULAR),
		-EACCES);
	assert_int_equal(access_open(AT_FDCWD, "/proc/1/cwd", O_RDONLY, 0, ACCESS_DIRECTORY),
			 -EACCES);
	access_leave(&saved);
	scratch_free(&s);
}

static void test_kinds(void **state)
{
	struct scratch s;
	char path[PATH_MAX + 16];
	char *text = NULL;
	size_t len = 0;
	int fd;

	scratch_new(&s);
	snprintf(path, sizeof(path), "%s/fifo", s.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	/* The FIFO has no writer: a blocking open would never return. */
	assert_int_equal(access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR), -EINVAL);
	assert_int_equal(access_read(AT_FDCWD, path, 100, &text, &len), -EINVAL);
	assert_string_equal(access_strerror(-EINVAL), "not a regular file");
	assert_int_equal(access_open(AT_FDCWD, "/dev/null", O_RDONLY, 0, ACCESS_REGULAR), -EINVAL);
	assert_int_equal(access_open(AT_FDCWD, s.dir, O_RDONLY, 0, ACCESS_REGULAR), -EISDIR);
	assert_int_equal(access_open(AT_FDCWD, s.dir, O_RDONLY, 0, ACCESS_STREAM), -EISDIR);
	assert_int_equal(access_open(AT_FDCWD, "/dev/null", O_RDONLY, 0, ACCESS_DIRECTORY),
			 -ENOTDIR);
	assert_int_equal(access_open(AT_FDCWD, "/proc/version", O_RDONLY, 0, ACCESS_STREAM),
			 -EAGAIN);
	fd = access_open(AT_FDCWD, "/dev/null", O_WRONLY, 0, ACCESS_STREAM);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_equal(access_read(AT_FDCWD, "/proc/version", 4096, &text, &len), 0);
	assert_int_equal(strlen(text), len);
	free(text);
	scratch_free(&s);
}

static int whoami(void *arg, struct errtext *err)
{
	struct identity id = now();

	if (id.r != NOBODY || id.e != NOBODY || id.s != NOBODY || id.permitted || setuid(0) == 0)
		return errtext_set(err, -EPERM, "still privileged");
	return arg ? errtext_set(err, -ENOSPC, "%s", (const char *)arg) : 0;
}

static int dies(void *arg, struct errtext *err)
{
	raise(SIGKILL);
	return 0;
}

static void test_run(void **state)
{
	struct identity before, after;
	struct errtext err = {""};

	need_root();
	before = now();
	assert_int_equal(invoker_run(&nobody, whoami, NULL, &err), 0);
	assert_int_equal(invoker_run(&nobody, whoami, "no room", &err), -EIO);
	assert_string_equal(err.text, "no room");
	assert_int_equal(invoker_run(&nobody, dies, NULL, &err), -EIO);
	assert_non_null(strstr(err.text, "signal 9"));
	after = now();
	assert_memory_equal(&before, &after, sizeof(before));
}

static void assert_denied(int error, const char *want)
{
	char text[ACCESS_DENIED_MAX];

	access_denied("/etc/shadow", error, text);
	assert_string_equal(text, want);
}

/* The error names the user to whom a file was refused; another user than sudo's caller is a
 * stranger. */
static void test_denied(void **state)
{
	struct access saved;
	char *caller = getenv("SUDO_UID");

	need_root();
	caller = caller ? strdup(caller) : NULL;
	setenv("SUDO_UID", "65534", 1);
	assert_denied(-EACCES, " (as root)");
	assert_int_equal(access_enter(&nobody, &saved), 0);
	assert_denied(-EACCES, " (as user nobody, who called sudo; for root's own files: sudo env "
			       "-u SUDO_UID cachemon ...)");
	assert_denied(-ENOENT, "");
	setenv("SUDO_UID", "65533", 1);
	assert_denied(-EPERM, " (as user nobody)");
	setenv("SUDO_UID", "65534x", 1);
	assert_denied(-EACCES, " (as user nobody)");
	access_leave(&saved);
	unsetenv("SUDO_UID");
	assert_int_equal(seteuid(4294967), 0);
	assert_denied(-EACCES, " (as user 4294967)");
	assert_int_equal(seteuid(0), 0);
	if (caller)
		setenv("SUDO_UID", caller, 1);
	free(caller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_part_of_the_rights),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_root_alone),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
