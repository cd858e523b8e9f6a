/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/wait.h>

#include "scratch.h"
#include "cachemon/access/invoker.h"
#include "cachemon/access/paths.h"

static void default_db(void **state)
{
	static const struct {
		const char *db, *state, *home;
		const char *want;
	} rows[] = {
		{"/x/y.db", "/s", "/h", "/x/y.db"},
		{"y.db", NULL, NULL, "y.db"},
		{"", "/s", "/h", "/s/cachemon/cachemon.db"},
		{NULL, "/s", NULL, "/s/cachemon/cachemon.db"},
		{NULL, "relative", "/h", "/h/.local/state/cachemon/cachemon.db"},
		{NULL, "", "/h", "/h/.local/state/cachemon/cachemon.db"},
		{NULL, NULL, NULL, NULL},
		{NULL, "relative", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct invoker inv = {.uid = 4242, .home = (char *)rows[i].home};
		struct errtext err = {""};
		char *path = NULL;
		int e = paths_default_db(&inv, rows[i].db, rows[i].state, &path, &err);

		if (rows[i].want) {
			assert_int_equal(e, 0);
			assert_string_equal(path, rows[i].want);
		} else {
			assert_int_equal(e, -ENOENT);
			assert_null(path);
			assert_non_null(strstr(err.text, "user 4242 has no home directory"));
		}
		free(path);
	}
}

static void below(void **state)
{
	static const struct {
		const char *path, *prefix, *want;
	} rows[] = {
		{"/a/b/c", "/a", "b/c"}, {"/a/b", "/a/b", ""}, {"/ab", "/a", NULL},
		{"/a", "/a/b", NULL},	 {"/a/b", "/", "a/b"}, {"/", "/", ""},
		{"", "/", NULL},	 {"/b/a", "/a", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = paths_below(rows[i].path, rows[i].prefix);

		if (rows[i].want)
			assert_string_equal(got, rows[i].want);
		else
			assert_null(got);
	}
	assert_string_equal(paths_last("/a/b"), "b");
	assert_string_equal(paths_last("b"), "b");
	assert_string_equal(paths_last("/"), "");
}

static void who_invoked(void **state)
{
	const struct passwd *pw = getpwuid(65534);
	char *nobody_home = pw ? strdup(pw->pw_dir) : NULL;
	struct invoker inv;
	struct invoker_facts f = {0, 0, 0, "65534", "65533", "nobody", "/root"};

	if (!nobody_home)
		fail_msg("the system has no user 65534 (nobody)");
	/* sudo: the user, with that user's home, not $HOME, which is root's. */
	assert_int_equal(invoker_from_facts(&f, &inv, NULL), 0);
	assert_int_equal(inv.uid, 65534);
	assert_int_equal(inv.gid, 65533);
	assert_true(inv.switched);
	assert_string_equal(inv.name, "nobody");
	assert_string_equal(inv.home, nobody_home);
	assert_true(inv.nr_groups >= 1);
	assert_int_equal(inv.groups[0], 65533);
	invoker_free(&inv);
	/* No group given: the account's. */
	f.sudo_gid = NULL;
	assert_int_equal(invoker_from_facts(&f, &inv, NULL), 0);
	assert_int_equal(inv.gid, 65534);
	invoker_free(&inv);
	/* Not root: anybody can set SUDO_*. */
	f = (struct invoker_facts){1234, 1234, 1235, "0", "0", "root", "/h"};
	assert_int_equal(invoker_from_facts(&f, &inv, NULL), 0);
	assert_int_equal(inv.uid, 1234);
	assert_int_equal(inv.gid, 1235);
	assert_false(inv.switched);
	assert_string_equal(inv.home, "/h");
	invoker_free(&inv);
	/* Set-user-id root: the real user, whatever SUDO_* contain. */
	f = (struct invoker_facts){1234, 0, 1235, "0", "0", "root", "/h"};
	assert_int_equal(invoker_from_facts(&f, &inv, NULL), 0);
	assert_int_equal(inv.uid, 1234);
	assert_true(inv.switched);
	invoker_free(&inv);
	/* Root directly, and root through sudo. */
	f = (struct invoker_facts){0, 0, 0, NULL, NULL, NULL, "/h"};
	assert_int_equal(invoker_from_facts(&f, &inv, NULL), 0);
	assert_false(inv.switched);
	invoker_free(&inv);
	f = (struct invoker_facts){0, 0, 0, "0", "0", "root", "/h"};
	assert_int_equal(invoker_from_facts(&f, &inv, NULL), 0);
	assert_int_equal(inv.uid, 0);
	assert_false(inv.switched);
	invoker_free(&inv);
	free(nobody_home);
}

static void bad_sudo(void **state)
{
	static const char *const ids[] = {"", "-1", "x", "4294967295", "4294967296", " 1", "1 "};
	struct invoker_facts f = {0};
	struct invoker inv;
	struct errtext err;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		f.sudo_uid = ids[i];
		f.sudo_gid = "1";
		assert_true(invoker_from_facts(&f, &inv, &err) < 0);
		assert_non_null(strstr(err.text, "SUDO_UID"));
		f.sudo_uid = "1";
		f.sudo_gid = ids[i];
		assert_true(invoker_from_facts(&f, &inv, &err) < 0);
		assert_non_null(strstr(err.text, "SUDO_GID"));
	}
	f.sudo_uid = "3999999999";
	f.sudo_gid = NULL;
	assert_int_equal(invoker_from_facts(&f, &inv, &err), -EINVAL);
}

static void make_parents(void **state)
{
	struct invoker inv = {.uid = getuid()};
	char path[PATH_MAX];
	struct errtext err;
	struct scratch s;
	struct stat st;

	scratch_new(&s);
	scratch_path(&s, "a/b/c/x.db", path);
	assert_int_equal(paths_make_parents(path, &inv, &err), 0);
	assert_int_equal(stat(scratch_path(&s, "a/b/c", path), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(access(scratch_path(&s, "a/b/c/x.db", path), F_OK), -1);
	/* Again, without any directory. */
	assert_int_equal(paths_make_parents(path, &inv, &err), 0);
	assert_int_equal(paths_make_parents("x.db", &inv, &err), 0);
	assert_int_equal(paths_make_parents("", &inv, &err), 0);
	scratch_write(&s, "file", "");
	scratch_path(&s, "file/d/x.db", path);
	assert_int_equal(paths_make_parents(path, &inv, &err), -ENOTDIR);
	assert_non_null(strstr(err.text, "/file: Not a directory"));
	scratch_free(&s);
}

static void make_parents_for_another(void **state)
{
	gid_t groups[] = {65533};
	struct invoker inv = {65534, 65534, NULL, NULL, NULL, groups, 1, true};
	char path[PATH_MAX];
	struct errtext err;
	struct scratch s;
	struct stat st;
	int before = getgroups(0, NULL);

	if (geteuid() != 0) {
		print_message("SKIP: acting as another user needs root\n");
		skip();
	}
	scratch_new(&s);
	assert_int_equal(chown(s.dir, 65534, 65534), 0);
	scratch_path(&s, "a/b/x.db", path);
	assert_int_equal(paths_make_parents(path, &inv, &err), 0);
	assert_int_equal(stat(scratch_path(&s, "a/b", path), &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_gid, 65534);
	/* Root does not do what the user may not: through a symlink of the user's. */
	scratch_mkdir(&s, "rootdir/");
	scratch_symlink(&s, "a/trap", "../rootdir");
	scratch_path(&s, "a/trap/b/x.db", path);
	assert_int_equal(paths_make_parents(path, &inv, &err), -EACCES);
	assert_non_null(strstr(err.text, "Permission denied"));
	/* Everything is restored. */
	assert_int_equal((uid_t)setfsuid((uid_t)-1), 0);
	assert_int_equal((gid_t)setfsgid((gid_t)-1), 0);
	assert_int_equal(getgroups(0, NULL), before);
	scratch_free(&s);
}

static void drop_for_good(void **state)
{
	gid_t groups[] = {65532, 65533};
	struct invoker inv = {65534, 65534, NULL, NULL, NULL, groups, 2, true};
	int status;
	pid_t child;

	if (geteuid() != 0) {
		print_message("SKIP: becoming another user needs root\n");
		skip();
	}
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		gid_t now[8];

		if (invoker_drop_permanently(&inv))
			_exit(1);
		if (getuid() != 65534 || geteuid() != 65534 || getgid() != 65534)
			_exit(2);
		if (getgroups(8, now) != 2 || now[0] != 65532 || now[1] != 65533)
			_exit(3);
		if (setuid(0) == 0 || setgroups(0, NULL) == 0)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_db),	 cmocka_unit_test(below),
		cmocka_unit_test(who_invoked),	 cmocka_unit_test(bad_sudo),
		cmocka_unit_test(make_parents),	 cmocka_unit_test(make_parents_for_another),
		cmocka_unit_test(drop_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
