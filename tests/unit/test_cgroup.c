/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>
#include <unistd.h>

#include "cgroup_tree.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static ino_t inode(const struct tree *t, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	assert_int_equal(stat(scratch_path(&t->s, name, path), &st), 0);
	return st.st_ino;
}

/* dir: the expected directory below the scratch directory. */
static void expect(struct tree *t, const char *path, enum cgroup_kind kind, const char *dir,
		   const char *canonical, unsigned int level)
{
	struct cgroup_ref ref;
	struct errtext err = {""};
	int e = cgroup_open(&t->mi, path, &ref, &err);

	if (e)
		fail_msg("%s: %d %s", path, e, err.text);
	assert_int_equal(ref.kind, kind);
	assert_string_equal(ref.path, canonical);
	assert_int_equal(ref.level, level);
	assert_int_equal(ref.id, inode(t, dir));
	assert_true(cgroup_exists(&ref));
	cgroup_close(&ref);
	assert_int_equal(ref.fd, -1);
}

static void refuse(struct tree *t, const char *path, int want, const char *text)
{
	struct cgroup_ref ref;
	struct errtext err = {""};
	int e = cgroup_open(&t->mi, path, &ref, &err);

	if (e != want || !strstr(err.text, text) || strchr(err.text, '\n'))
		fail_msg("%s: %d %s", path, e, err.text);
}

static void by_path(void **state)
{
	struct tree *t = *state;
	char path[PATH_MAX];

	add(t, "unified/a/b", "7\n");
	add(t, "memory/m", "");
	add(t, "memory/m/n/o", "7\n");
	add(t, "memory/a b\n\xff", "7\n");
	expect(t, scratch_path(&t->s, "unified/a/b", path), CGROUP_V2, "unified/a/b", "/a/b", 2);
	expect(t, scratch_path(&t->s, "unified/a/../a/b/", path), CGROUP_V2, "unified/a/b", "/a/b",
	       2);
	expect(t, scratch_path(&t->s, "memory/m/n/o", path), CGROUP_V1_MEMORY, "memory/m/n/o",
	       "/m/n/o", 3);
	expect(t, scratch_path(&t->s, "unified", path), CGROUP_V2, "unified", "/", 0);
	/* From the hierarchy's root. */
	expect(t, "/a/b", CGROUP_V2, "unified/a/b", "/a/b", 2);
	expect(t, "a/b", CGROUP_V2, "unified/a/b", "/a/b", 2);
	expect(t, "/a/b/", CGROUP_V2, "unified/a/b", "/a/b", 2);
	expect(t, "/m", CGROUP_V1_MEMORY, "memory/m", "/m", 1);
	expect(t, "/", CGROUP_V2, "unified", "/", 0);
	expect(t, "/a b\n\xff", CGROUP_V1_MEMORY, "memory/a b\n\xff", "/a b\n\xff", 1);
	/* A symlink into a hierarchy. */
	scratch_symlink(&t->s, "link", "memory/m");
	expect(t, scratch_path(&t->s, "link", path), CGROUP_V1_MEMORY, "memory/m", "/m", 1);
}

static void in_both_trees(void **state)
{
	struct tree *t = *state;

	add(t, "unified/x", "");
	add(t, "memory/x", "");
	expect(t, "/x", CGROUP_V2, "unified/x", "/x", 1);
	add(t, "memory/x/y", "12\n");
	expect(t, "/x", CGROUP_V1_MEMORY, "memory/x", "/x", 1);
	add(t, "unified/x/y/z", "12\n");
	expect(t, "/x", CGROUP_V2, "unified/x", "/x", 1);
}

/* Slurm without a limit of memory places its jobs in the freezer alone. */
static void other_controllers(void **state)
{
	static const char layout[] = "1 0 8:1 / / rw - ext4 x rw\n"
				     "2 1 0:30 / %s/freezer rw - cgroup none rw,freezer\n"
				     "3 1 0:31 / %s/cpu rw - cgroup none rw,cpu,cpuacct\n"
				     "4 1 0:32 / %s/cpuset rw - cgroup none rw,cpuset\n"
				     "5 1 0:33 / %s/pids rw - cgroup none rw,pids\n";
	struct tree *t = *state;
	char path[PATH_MAX];
	char *searched;

	tree_mounts(t, layout);
	add(t, "freezer/a", "7\n");
	add(t, "cpu/b", "7\n");
	add(t, "cpuset/c", "7\n");
	add(t, "pids/d", "7\n");
	add(t, "pids/a", "7\n");
	expect(t, "/a", CGROUP_V1_FREEZER, "freezer/a", "/a", 1);
	expect(t, "/b", CGROUP_V1_CPUACCT, "cpu/b", "/b", 1);
	expect(t, scratch_path(&t->s, "cpu/b", path), CGROUP_V1_CPUACCT, "cpu/b", "/b", 1);
	expect(t, "/c", CGROUP_V1_CPUSET, "cpuset/c", "/c", 1);
	expect(t, "/d", CGROUP_V1_PIDS, "pids/d", "/d", 1);
	/* Empty in one, populated in a later one. */
	add(t, "freezer/d", "");
	expect(t, "/d", CGROUP_V1_PIDS, "pids/d", "/d", 1);
	searched = cgroup_searched(&t->mi);
	assert_non_null(strstr(searched, "/freezer, "));
	assert_non_null(strstr(searched, "/cpu and "));
	assert_null(strstr(searched, "/memory"));
	free(searched);
	assert_null(cgroup_memory_mount(&t->mi));
}

static void refused(void **state)
{
	struct tree *t = *state;
	char path[PATH_MAX];

	add(t, "cpu/c", "7\n");
	add(t, "unified/a", "7\n");
	scratch_mkdir(&t->s, "plain/");
	refuse(t, "", -ENOENT, "empty");
	refuse(t, "/nowhere", -ENOENT,
	       "no cgroup /nowhere: it is not a directory, and not below /");
	refuse(t, "/now\nhere\033", -ENOENT, "no cgroup /now?here?:");
	refuse(t, scratch_path(&t->s, "unified/nowhere", path), -ENOENT, "no cgroup");
	refuse(t, scratch_path(&t->s, "plain", path), -ENOTDIR, "is not a cgroup");
	refuse(t, "/dev", -ENOTDIR, "/dev is not a cgroup");
	refuse(t, scratch_path(&t->s, "cpu/c", path), -EOPNOTSUPP,
	       "v1 controller that cannot be watched: use another, like");
	refuse(t, path, -EOPNOTSUPP, "/memory/c");
	refuse(t, scratch_path(&t->s, "unified/a/cgroup.procs", path), -ENOTDIR,
	       "is a file: give the directory of the cgroup");
	/* Leaves the hierarchy by "..". */
	refuse(t, "/../plain", -ENOTDIR, "is not a cgroup");
	refuse(t, "/../cpu/c", -EOPNOTSUPP, "v1 controller that cannot be watched");
}

static void layouts(void **state)
{
	struct tree *t = *state;
	char path[PATH_MAX];

	/* v2 alone. */
	add(t, "unified/a", "7\n");
	tree_mounts(t, "1 0 8:1 / / rw - ext4 x rw\n4 1 0:32 / %s/unified rw - cgroup2 none rw\n");
	expect(t, "/a", CGROUP_V2, "unified/a", "/a", 1);
	refuse(t, scratch_path(&t->s, "memory", path), -ENOTDIR, "is not a cgroup");
	/* v1 without the memory controller. */
	add(t, "cpu/a", "7\n");
	tree_mounts(t, "1 0 8:1 / / rw - ext4 x rw\n4 1 0:32 / %s/cpu rw - cgroup none rw,cpu\n");
	refuse(t, "/a", -EOPNOTSUPP, "no cgroup hierarchy that can be watched");
	/* None. */
	tree_mounts(t, "1 0 8:1 / / rw - ext4 x rw\n");
	refuse(t, "/a", -EOPNOTSUPP, "no cgroup hierarchy");
	/* A bind mount of a part of the hierarchy, as in a container: the path is the kernel's. */
	add(t, "memory/sub", "7\n");
	tree_mounts(t, "1 0 8:1 / / rw - ext4 x rw\n"
		       "2 1 0:30 /docker/" ID_A " %s/memory rw - cgroup cgroup rw,memory\n");
	expect(t, scratch_path(&t->s, "memory/sub", path), CGROUP_V1_MEMORY, "memory/sub",
	       "/docker/" ID_A "/sub", 3);
	expect(t, "/docker/" ID_A "/sub", CGROUP_V1_MEMORY, "memory/sub", "/docker/" ID_A "/sub",
	       3);
	expect(t, "/docker/" ID_A, CGROUP_V1_MEMORY, "memory", "/docker/" ID_A, 2);
	refuse(t, "/docker", -ENOENT, "no cgroup");
	/* A tmpfs over the hierarchy hides it. */
	tree_mounts(t, "1 0 8:1 / / rw - ext4 x rw\n4 1 0:32 / %s/unified rw - cgroup2 none rw\n"
		       "5 4 0:33 / %s/unified rw - tmpfs none rw\n");
	refuse(t, "/a", -EOPNOTSUPP, "no cgroup hierarchy");
}

static void vanishes(void **state)
{
	struct tree *t = *state;
	struct cgroup_ref ref;
	char path[PATH_MAX];

	add(t, "unified/v", "7\n");
	assert_int_equal(cgroup_open(&t->mi, "/v", &ref, NULL), 0);
	assert_true(cgroup_exists(&ref));
	unlink(scratch_path(&t->s, "unified/v/cgroup.procs", path));
	rmdir(scratch_path(&t->s, "unified/v", path));
	assert_false(cgroup_exists(&ref));
	assert_false(cgroup_populated(&ref));
	/* A later cgroup of that name is another one. */
	add(t, "unified/v", "7\n");
	assert_false(cgroup_exists(&ref));
	cgroup_close(&ref);
}

/* Which hierarchy limits memory, and whether the whole of it is mounted, so that a path
 * identifies a group. */
static void limits_memory(void **state)
{
	static const char v2_alone[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
				       "2 1 0:32 / %s/unified rw - cgroup2 cgroup2 rw\n";
	static const char part[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
				   "2 1 0:32 /pod %s/unified rw - cgroup2 cgroup2 rw\n";
	struct tree *t = *state;
	struct cgroup_ref v1 = {.kind = CGROUP_V1_MEMORY, .path = (char[]){"/a"}};
	struct cgroup_ref v2 = {.kind = CGROUP_V2, .path = (char[]){"/a"}};
	struct cgroup_ref root = {.kind = CGROUP_V2, .path = (char[]){"/"}};

	assert_true(cgroup_limits_memory(&t->mi, &v1));
	assert_false(cgroup_limits_memory(&t->mi, &v2));
	tree_mounts(t, v2_alone);
	assert_true(cgroup_limits_memory(&t->mi, &v2));
	assert_false(cgroup_limits_memory(&t->mi, &v1));
	assert_false(cgroup_limits_memory(&t->mi, &root));
	tree_mounts(t, part);
	assert_false(cgroup_limits_memory(&t->mi, &v2));
	tree_mounts(t, "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
	assert_false(cgroup_limits_memory(&t->mi, &v2));
}

/* In the kernel's own hierarchies: the id equals the file handle, which is the kernfs id;
 * removal. */
static void on_the_kernel(void **state)
{
	static const enum cgroup_kind kinds[] = {CGROUP_V2, CGROUP_V1_MEMORY};
	unsigned int tried = 0;
	struct mountinfo mi;

	assert_int_equal(mountinfo_read("/proc/self/mountinfo", &mi), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct mount *m = cgroup_mount(&mi, kinds[i]);
		struct {
			struct file_handle head;
			uint64_t id;
		} handle = {.head.handle_bytes = sizeof(uint64_t)};
		struct cgroup_ref ref;
		char dir[PATH_MAX];
		int mount_id;

		if (!m)
			continue;
		snprintf(dir, sizeof(dir), "%s/cachemon-test-%d", m->point, getpid());
		if (mkdir(dir, 0755))
			continue;
		tried++;
		assert_int_equal(cgroup_open(&mi, dir, &ref, NULL), 0);
		assert_int_equal(ref.kind, kinds[i]);
		assert_int_equal(ref.level, strcmp(m->root, "/") == 0 ? 1 : ref.level);
		if (name_to_handle_at(AT_FDCWD, dir, &handle.head, &mount_id, 0) == 0) {
			uint64_t id;

			memcpy(&id, handle.head.f_handle, sizeof(id));
			assert_int_equal(ref.id, id);
		}
		assert_true(cgroup_exists(&ref));
		assert_false(cgroup_populated(&ref));
		assert_int_equal(rmdir(dir), 0);
		assert_false(cgroup_exists(&ref));
		cgroup_close(&ref);
	}
	mountinfo_free(&mi);
	if (tried == 0) {
		print_message("SKIP: no cgroup hierarchy to make a cgroup in\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_path, setup, teardown),
		cmocka_unit_test_setup_teardown(in_both_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(other_controllers, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(layouts, setup, teardown),
		cmocka_unit_test_setup_teardown(vanishes, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_memory, setup, teardown),
		cmocka_unit_test(on_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
