/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>
#include <unistd.h>

#include "cachemon/job/cgroup.h"
#include "cachemon/job/job_find.h"
#include "scratch.h"

#define POD_UID	 "5ba385ca-b6e6-4246-bd66-d48d429dbc12"
#define POD_UID_ "5ba385ca_b6e6_4246_bd66_d48d429dbc12"
#define ID_32	 "0123456789abcdef0123456789abcdef"
#define ID_A	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B	 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

/* A hybrid system in a directory: v2 at unified, v1 at memory and cpu (which cannot be watched). */
struct tree {
	struct scratch s;
	struct mountinfo mi;
};

static void tree_mounts(struct tree *t, const char *format)
{
	char text[8 * PATH_MAX];
	const char *d = t->s.dir;

	mountinfo_free(&t->mi);
	/* Some arguments may be unused. */
	snprintf(text, sizeof(text), format, d, d, d, d);
	assert_int_equal(mountinfo_parse(text, strlen(text), &t->mi), 0);
}

#define HYBRID                                                                                     \
	"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"                                                     \
	"2 1 0:30 / %s/memory rw - cgroup cgroup rw,memory\n"                                      \
	"3 1 0:31 / %s/cpu rw - cgroup cgroup rw,cpu\n"                                            \
	"4 1 0:32 / %s/unified rw - cgroup2 cgroup2 rw\n"

static void add(struct tree *t, const char *dir, const char *procs)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	scratch_write(&t->s, name, procs);
}

static int setup(void **state)
{
	static struct tree t;

	memset(&t, 0, sizeof(t));
	scratch_new(&t.s);
	add(&t, "unified", "1\n");
	add(&t, "memory", "1\n");
	add(&t, "cpu", "1\n");
	tree_mounts(&t, HYBRID);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;

	mountinfo_free(&t->mi);
	scratch_free(&t->s);
	return 0;
}

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

static void names(void **state)
{
	static const struct {
		const char *path;
		enum find_kind kind;
		const char *name;
		bool match;
	} rows[] = {
		{"/system.slice/slurmstepd.scope/job_12", FIND_SLURM, "12", true},
		{"/system.slice/n1_slurmstepd.scope/job_12", FIND_SLURM, "12", true},
		{"/slurm/uid_1000/job_12", FIND_SLURM, "12", true},
		{"/slurm_n1/uid_1000/job_12", FIND_SLURM, "12", true},
		{"/slurm/uid_1000/job_12", FIND_SLURM, "1", false},
		{"/slurm/uid_1000/job_12", FIND_SLURM, "2", false},
		{"/slurm/uid_1000/job_12/step_0", FIND_SLURM, "12", false},
		{"/slurm/uid_1000/job_12/step_0", FIND_SLURM, "12.0", true},
		{"/slurm/uid_1000/job_12/step_batch", FIND_SLURM, "12.batch", true},
		{"/slurm/uid_1000/job_12/step_10", FIND_SLURM, "12.1", false},
		{"/slurm/uid_1000/job_12/step_0", FIND_SLURM, "12.", false},
		{"/slurm/uid_1000/job_12/step_0/task_0", FIND_SLURM, "12.0", false},
		{"/slurm/uid_1000/job_2/step_0", FIND_SLURM, "12.0", false},
		{"/step_0", FIND_SLURM, "12.0", false},
		{"/slurmx/uid_1000/job_12", FIND_SLURM, "12", false},
		{"/slurm_/uid_1000/job_12", FIND_SLURM, "12", false},
		{"/uid_1000/job_12", FIND_SLURM, "12", false},
		{"/xslurmstepd.scope/job_12", FIND_SLURM, "12", false},
		{"/job_12", FIND_SLURM, "12", false},
		/* Where users may make cgroups. */
		{"/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_12",
		 FIND_SLURM, "12", false},
		{"/user.slice/slurm/uid_1000/job_12", FIND_SLURM, "12", false},
		{"/system.slice/x.service/slurmstepd.scope/job_12", FIND_SLURM, "12", false},
		{"/slurmstepd.scope/job_12/step_0", FIND_SLURM, "12.0", true},
		{"job_12", FIND_SLURM, "12", false},
		{"/", FIND_SLURM, "", false},
		{"/system.slice/a.service", FIND_UNIT, "a.service", true},
		{"/system.slice/a.service", FIND_UNIT, "a", true},
		{"/a.slice/run-1.scope", FIND_UNIT, "run-1.scope", true},
		{"/a.slice", FIND_UNIT, "a.slice", true},
		{"/a.slice", FIND_UNIT, "a", false},
		{"/run-1.scope", FIND_UNIT, "run-1", false},
		{"/system.slice/a.service/b", FIND_UNIT, "a", false},
		{"/system.slice/ba.service", FIND_UNIT, "a", false},
		{"/plain", FIND_UNIT, "plain", false},
		{"/docker/" ID_A, FIND_CONTAINER, ID_A, true},
		{"/docker/" ID_A, FIND_CONTAINER, "0123456789ab", true},
		{"/docker/" ID_A, FIND_CONTAINER, "0123456789a", false},
		{"/docker/" ID_A, FIND_CONTAINER, "123456789abc", false},
		{"/docker/" ID_A, FIND_CONTAINER, ID_A "0", false},
		{"/docker/" ID_A, FIND_CONTAINER, "0123456789AB", false},
		{"/system.slice/docker-" ID_A ".scope", FIND_CONTAINER, "0123456789ab", true},
		{"/k/cri-containerd-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
		{"/k/crio-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
		{"/m/libpod-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
		{"/m/libpod-" ID_A, FIND_CONTAINER, ID_A, true},
		{"/m/nerdctl-" ID_A ".scope", FIND_CONTAINER, ID_A, true},
		/* Finds the monitor's cgroup of a container, not the container's. */
		{"/m/libpod-conmon-" ID_A ".scope", FIND_CONTAINER, ID_A, false},
		{"/k/crio-conmon-" ID_A ".scope", FIND_CONTAINER, ID_A, false},
		{"/docker/" ID_A "/init", FIND_CONTAINER, ID_A, false},
		{"/docker/" ID_A "0", FIND_CONTAINER, ID_A, false},
		{"/docker/" ID_A ".service", FIND_CONTAINER, ID_A, false},
		{"/kubepods/pod" POD_UID, FIND_POD, POD_UID, true},
		{"/kubepods/besteffort/pod" POD_UID, FIND_POD, POD_UID, true},
		{"/kubepods/besteffort/pod" POD_UID "/" ID_A, FIND_POD, POD_UID, false},
		{"/docker/pod" POD_UID, FIND_POD, POD_UID, false},
		{"/kubepods/pod" POD_UID, FIND_POD, "5ba385ca", false},
		{"/kubepods/pod" POD_UID "0", FIND_POD, POD_UID, false},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_UID_
		 ".slice",
		 FIND_POD, POD_UID, true},
		{"/kubepods.slice/kubepods-pod" POD_UID_ ".slice", FIND_POD, POD_UID, true},
		{"/kubepods.slice/kubepods-pod" POD_UID_ ".scope", FIND_POD, POD_UID, false},
		{"/x.slice/other-pod" POD_UID_ ".slice", FIND_POD, POD_UID, false},
		{"/kubepods/pod" ID_32, FIND_POD, ID_32, true},
		{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope", FIND_VM, "web", true},
		{"/machine.slice/machine-qemu\\x2d12\\x2da\\x20b.scope", FIND_VM, "a b", true},
		{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope", FIND_VM, "we", false},
		{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope", FIND_VM, "webs", false},
		{"/machine.slice/machine-qemu\\x2d2\\x2dweb.scope/libvirt", FIND_VM, "web", false},
		{"/machine.slice/machine-lxc\\x2d2\\x2dweb.scope", FIND_VM, "web", false},
		{"/machine/qemu-2-web.libvirt-qemu", FIND_VM, "web", true},
		{"/machine/qemu-2-web.libvirt-qemu", FIND_VM, "2-web", false},
		{"/machine/qemu-2-web", FIND_VM, "web", false},
		{"/machine/qemu--web.libvirt-qemu", FIND_VM, "web", false},
		{"/machine/qemu-2-", FIND_VM, "", false},
		{"/a/train", FIND_LAST, "train", true},
		{"/a/train", FIND_LAST, "rain", false},
		{"/a/train", FIND_LAST, "a", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (find_matches(rows[i].path, rows[i].kind, rows[i].name) != rows[i].match)
			fail_msg("%s as %s '%s'", rows[i].path, find_kind_name(rows[i].kind),
				 rows[i].name);
	}
}

static int find(struct tree *t, const char *name, const char *want, enum find_kind want_kind,
		struct errtext *err)
{
	struct cgroup_ref ref;
	enum find_kind kind = FIND_NR;
	int e = find_cgroup(&t->mi, (1U << FIND_NR) - 1, name, &ref, &kind, err);

	if (e == 0) {
		assert_string_equal(ref.path, want);
		assert_int_equal(kind, want_kind);
		cgroup_close(&ref);
	}
	return e;
}

static void found(void **state)
{
	struct tree *t = *state;
	struct errtext err;
	enum find_kind kind;
	struct cgroup_ref ref;

	add(t, "memory/slurm_n1/uid_1000/job_77/step_0/task_0", "7\n");
	add(t, "unified/user.slice/77", "7\n");
	add(t, "unified/system.slice/train.service", "");
	add(t, "memory/system.slice/train.service", "9\n");
	add(t, "unified/system.slice/docker-" ID_A ".scope", "8\n");
	add(t, "memory/kubepods/pod1/" ID_B, "8\n");
	add(t, "unified/one/twin", "8\n");
	add(t, "unified/two/twin", "8\n");
	assert_int_equal(find(t, "77", "/slurm_n1/uid_1000/job_77", FIND_SLURM, &err), 0);
	/* Of two cgroups, the one with processes. */
	assert_int_equal(find(t, "train", "/system.slice/train.service", FIND_UNIT, &err), 0);
	assert_int_equal(find_cgroup(&t->mi, 1U << FIND_UNIT, "train", &ref, &kind, &err), 0);
	assert_int_equal(ref.kind, CGROUP_V1_MEMORY);
	cgroup_close(&ref);
	assert_int_equal(find(t, "0123456789ab", "/system.slice/docker-" ID_A ".scope",
			      FIND_CONTAINER, &err),
			 0);
	assert_int_equal(find(t, ID_B, "/kubepods/pod1/" ID_B, FIND_CONTAINER, &err), 0);
	assert_int_equal(find(t, "pod1", "/kubepods/pod1", FIND_LAST, &err), 0);
	assert_int_equal(find(t, "twin", "", FIND_LAST, &err), -ENOTUNIQ);
	assert_non_null(strstr(err.text, "/one/twin"));
	assert_non_null(strstr(err.text, "/two/twin"));
	/* In two hierarchies, at different places. */
	add(t, "unified/three/other", "8\n");
	add(t, "memory/four/other", "8\n");
	assert_int_equal(find(t, "other", "", FIND_LAST, &err), -ENOTUNIQ);
	assert_int_equal(find(t, "nothing", "", FIND_LAST, &err), -ENOENT);
	/* Only the requested kinds are searched. */
	assert_int_equal(find_cgroup(&t->mi, 1U << FIND_UNIT, "77", &ref, &kind, &err), -ENOENT);
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
		cmocka_unit_test_setup_teardown(found, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_memory, setup, teardown),
		cmocka_unit_test(names),
		cmocka_unit_test(on_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
