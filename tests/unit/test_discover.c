/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon job access */
/* Jobs that appear and go, by trees of cgroups in a directory and by made records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>

#include "cachemon/daemon/discover.h"
#include "scratch.h"

#define ID_A	  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD	  "5ba385ca-b6e6-4246-bd66-d48d429dbc12"
#define OTHER_POD "11111111-b6e6-4246-bd66-d48d429dbc12"
#define POD_PATH  "/kubepods/burstable/pod" POD

enum { SECOND = 1000000000, MEMORY = 4, FREEZER = 6 };

/* A node: v1 memory and freezer, and v2. events: "+slurm:12@2 " and so on. */
struct node {
	struct scratch s;
	char mountinfo[PATH_MAX], cgroup[PATH_MAX];
	struct discover_places places;
	struct node_config config;
	struct discover *d;
	uint64_t now_ns, dropped, due_ns;
	char events[4096];
};

enum { MINE = 7 };

static void note(struct node *n, char sign, const struct discover_job *j)
{
	size_t len = strlen(n->events);

	snprintf(n->events + len, sizeof(n->events) - len, "%c%s:%s@%zu ", sign,
		 find_kind_name(j->kind), j->name ?: j->id, j->nr_cgroups);
}

static void appeared(void *arg, struct discover_job *j)
{
	assert_int_equal(j->data, 0);
	j->data = MINE;
	note(arg, '+', j);
}

static void changed(void *arg, struct discover_job *j)
{
	assert_int_equal(j->data, MINE);
	note(arg, '=', j);
}

static void gone(void *arg, struct discover_job *j)
{
	assert_int_equal(j->data, MINE);
	note(arg, '-', j);
}

static const struct discover_events events = {appeared, changed, gone};

static void configure(struct node *n, const char *yaml)
{
	struct errtext err;

	node_config_free(&n->config);
	assert_int_equal(node_config_parse("test", yaml, strlen(yaml), &n->config, &err), 0);
}

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));
	char text[4 * PATH_MAX];

	scratch_new(&n->s);
	scratch_write(&n->s, "cgroup",
		      "12:name=systemd:/x\n6:freezer:/\n4:memory:/a:b\n3:cpu,cpuacct:/\n0::/\n");
	scratch_path(&n->s, "cgroup", n->cgroup);
	snprintf(text, sizeof(text),
		 "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
		 "2 1 0:30 / %s/memory rw - cgroup cgroup rw,memory\n"
		 "3 1 0:31 / %s/freezer rw - cgroup cgroup rw,freezer\n"
		 "4 1 0:32 / %s/unified rw - cgroup2 cgroup2 rw\n",
		 n->s.dir, n->s.dir, n->s.dir);
	scratch_write(&n->s, "mountinfo", text);
	scratch_path(&n->s, "mountinfo", n->mountinfo);
	scratch_mkdir(&n->s, "memory/");
	scratch_mkdir(&n->s, "freezer/");
	scratch_mkdir(&n->s, "unified/");
	n->places = (struct discover_places){n->mountinfo, n->cgroup, n->s.dir};
	configure(n, "");
	n->now_ns = SECOND;
	assert_int_equal(discover_new(&n->places, &n->config, &events, n, &n->d), 0);
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;

	discover_free(n->d);
	node_config_free(&n->config);
	scratch_free(&n->s);
	free(n);
	return 0;
}

static bool reads_fail;

/* Instead of libc's: a directory of which only the first entry can be read. */
struct dirent *readdir(DIR *dir)
{
	static struct dirent *(*real)(DIR *);
	static int nr;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "readdir");
	nr = reads_fail ? nr + 1 : 0;
	if (nr < 2)
		return real(dir);
	errno = EIO;
	return NULL;
}

/* The events since the last call. */
static void expect_events(struct node *n, const char *want)
{
	assert_string_equal(n->events, want);
	*n->events = '\0';
}

static void settle(struct node *n)
{
	assert_int_equal(discover_settle(n->d, n->dropped, n->now_ns, &n->due_ns), 0);
}

/* Directories that are not there; returns how many. */
static size_t make_missing(struct node *n, const char *dir)
{
	char path[PATH_MAX], part[PATH_MAX];
	size_t made = 0;

	for (const char *end = dir; *end;) {
		end += 1 + strcspn(end + 1, "/");
		snprintf(part, sizeof(part), "%.*s", (int)(end - dir), dir);
		made += !mkdir(scratch_path(&n->s, part, path), 0755);
	}
	return made;
}

static void birth(struct node *n, enum birth_event event, uint32_t hierarchy, uint64_t id,
		  const char *path)
{
	struct birth b = {.id = id, .hierarchy = hierarchy, .event = event, .level = 3};
	const char *top = hierarchy == MEMORY ? "memory" : hierarchy ? "freezer" : "unified";
	char above[PATH_MAX], full[PATH_MAX];
	size_t made;

	/* It looks at the directory that the cgroup is in. */
	snprintf(above, sizeof(above), "%s%.*s", top, (int)(strrchr(path, '/') - path), path);
	made = make_missing(n, above);
	snprintf(b.path, sizeof(b.path), "%s", path);
	discover_birth(n->d, &b);
	for (; made; made--) {
		assert_int_equal(rmdir(scratch_path(&n->s, above, full)), 0);
		*strrchr(above, '/') = '\0';
	}
}

/* As the kernel's id: the inode. */
static uint64_t make(struct node *n, const char *dir)
{
	char path[PATH_MAX], slash[PATH_MAX];
	struct stat st;

	snprintf(slash, sizeof(slash), "%s/", dir);
	scratch_mkdir(&n->s, slash);
	assert_int_equal(stat(scratch_path(&n->s, dir, path), &st), 0);
	return st.st_ino;
}

static void unmake(struct node *n, const char *dir)
{
	char path[PATH_MAX];

	assert_int_equal(rmdir(scratch_path(&n->s, dir, path)), 0);
}

static void at_the_start(void **state)
{
	struct node *n = *state;
	uint64_t id;

	id = make(n, "memory/slurm_n1/uid_1000/job_12");
	make(n, "memory/slurm_n1/uid_1000/job_12/step_0/task_0");
	make(n, "freezer/slurm_n1/uid_1000/job_12");
	make(n, "unified/system.slice/a.service");
	make(n, "unified/user.slice/user-1000.slice/session-1.scope/slurm/uid_0/job_7");
	make(n, "unified/docker/" ID_A);
	make(n, "memory" POD_PATH "/" ID_A);
	settle(n);
	/* The pod has one container, which is not a job of its own. */
	assert_non_null(strstr(n->events, "+slurm:12@2 "));
	assert_non_null(strstr(n->events, "+container:" ID_A "@1 "));
	assert_non_null(strstr(n->events, "+pod:" POD "@1 "));
	assert_int_equal(strlen(n->events),
			 strlen("+slurm:12@2 +container:" ID_A "@1 +pod:" POD "@1 "));
	assert_true(n->due_ns == UINT64_MAX);
	*n->events = '\0';
	/* A record of a cgroup that the walk has seen, and the end of one of its two. */
	birth(n, BIRTH_MADE, MEMORY, id, "/slurm_n1/uid_1000/job_12");
	birth(n, BIRTH_ENTERED, MEMORY, id, "/slurm_n1/uid_1000/job_12");
	expect_events(n, "");
	birth(n, BIRTH_REMOVED, MEMORY, id, "/slurm_n1/uid_1000/job_12");
	expect_events(n, "=slurm:12@1 ");
	settle(n);
	expect_events(n, "");
	assert_int_equal(discover_walks(n->d), 1);
}

/* A user who owns a cgroup makes others in it, also with the id of a container of root's. */
static void imitations(void **state)
{
	struct node *n = *state;
	char path[PATH_MAX];

	if (geteuid())
		skip();
	make(n, "memory/docker/" ID_A);
	make(n, "memory/given/docker/" ID_A);
	make(n, "memory/given/machine-qemu\\x2d1\\x2dvm.scope");
	assert_int_equal(chown(scratch_path(&n->s, "memory/given", path), 4003, 4003), 0);
	assert_int_equal(chown(scratch_path(&n->s, "memory/given/docker", path), 4003, 4003), 0);
	settle(n);
	expect_events(n, "+container:" ID_A "@1 ");
	birth(n, BIRTH_MADE, MEMORY, 7, "/given/docker/" ID_A);
	birth(n, BIRTH_MADE, MEMORY, 8, "/given/machine-qemu\\x2d1\\x2dwm.scope");
	/* Its directory has gone or has another name. */
	birth(n, BIRTH_MADE, MEMORY, 9, "/docker/" ID_A "/x");
	expect_events(n, "");
}

static void births(void **state)
{
	struct node *n = *state;

	settle(n);
	birth(n, BIRTH_MADE, FREEZER, 7, "/slurm/uid_1000/job_12");
	birth(n, BIRTH_MADE, FREEZER, 8, "/slurm/uid_1000/job_12/step_batch");
	/* The same id in another hierarchy. */
	birth(n, BIRTH_MADE, MEMORY, 7, "/slurm/uid_1000/job_12");
	birth(n, BIRTH_REMOVED, MEMORY, 8, "/slurm/uid_1000/job_13");
	birth(n, BIRTH_REMOVED, FREEZER, 8, "/slurm/uid_1000/job_12/step_batch");
	expect_events(n, "+slurm:12@1 =slurm:12@2 ");
	birth(n, BIRTH_REMOVED, FREEZER, 7, "/slurm/uid_1000/job_12");
	birth(n, BIRTH_REMOVED, MEMORY, 7, "/slurm/uid_1000/job_12");
	expect_events(n, "=slurm:12@1 -slurm:12@0 ");
	/* Its birth was not seen. */
	birth(n, BIRTH_ENTERED, MEMORY, 9, "/slurm/uid_1000/job_12");
	expect_events(n, "+slurm:12@1 ");
	/* A controller that no job is found by. */
	birth(n, BIRTH_MADE, 12, 9, "/slurm/uid_1000/job_14");
	birth(n, BIRTH_MADE, MEMORY, 10, "/user.slice/slurm/uid_1000/job_14");
	birth(n, BIRTH_MADE, MEMORY, 11, "/system.slice/a.service");
	expect_events(n, "");
	settle(n);
	assert_int_equal(discover_walks(n->d), 1);
	/* A controller that was mounted meanwhile. */
	birth(n, BIRTH_MADE, 13, 9, "/slurm/uid_1000/job_14");
	n->now_ns += 100 * (uint64_t)SECOND;
	settle(n);
	assert_int_equal(discover_walks(n->d), 2);
}

/* A path that may be cut is not a job, though its beginning looks like one. */
static void cut_paths(void **state)
{
	char path[BIRTH_PATH_MAX + 1];
	struct node *n = *state;

	settle(n);
	snprintf(path, sizeof(path), "/%0200d/%0*d/%s", 1, BIRTH_PATH_MAX - 205 - (int)strlen(ID_A),
		 1, ID_A);
	assert_int_equal(strlen(path), BIRTH_PATH_MAX - 2);
	birth(n, BIRTH_MADE, MEMORY, 6, path);
	expect_events(n, "+container:" ID_A "@1 ");
	birth(n, BIRTH_REMOVED, MEMORY, 6, path);
	expect_events(n, "-container:" ID_A "@0 ");
	snprintf(path, sizeof(path), "/%0200d/%0*d/%s", 1, BIRTH_PATH_MAX - 204 - (int)strlen(ID_A),
		 1, ID_A);
	assert_int_equal(strlen(path), BIRTH_PATH_MAX - 1);
	birth(n, BIRTH_MADE, MEMORY, 7, path);
	expect_events(n, "");
}

static void lost_records(void **state)
{
	struct node *n = *state;

	make(n, "memory/slurm/uid_0/job_1");
	settle(n);
	expect_events(n, "+slurm:1@1 ");
	/* One job came and one went, without a record. */
	make(n, "memory/slurm/uid_0/job_2");
	unmake(n, "memory/slurm/uid_0/job_1");
	n->dropped = 2;
	/* Not at once: the last walk was just now. */
	settle(n);
	expect_events(n, "");
	assert_true(n->due_ns > n->now_ns && n->due_ns < UINT64_MAX);
	n->now_ns = n->due_ns;
	settle(n);
	expect_events(n, "-slurm:1@0 +slurm:2@1 ");
	assert_true(n->due_ns == UINT64_MAX);
	settle(n);
	expect_events(n, "");
	assert_int_equal(discover_walks(n->d), 2);
	/* A hierarchy that is not mounted cannot be searched: its jobs stay. */
	birth(n, BIRTH_MADE, FREEZER, 77, "/slurm/uid_0/job_3");
	scratch_write(&n->s, "mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
	n->dropped = 3;
	n->now_ns += 100 * (uint64_t)SECOND;
	settle(n);
	expect_events(n, "+slurm:3@1 ");
	assert_int_equal(discover_walks(n->d), 3);
}

/* No mounts: the walk fails, and is repeated. */
static void failed_walk(void **state)
{
	struct node *n = *state;
	char path[PATH_MAX];

	make(n, "memory/slurm/uid_0/job_1");
	assert_int_equal(unlink(scratch_path(&n->s, "cgroup", path)), 0);
	assert_int_equal(discover_settle(n->d, 0, n->now_ns, &n->due_ns), -ENOENT);
	assert_true(n->due_ns < UINT64_MAX);
	scratch_write(&n->s, "cgroup", "4:memory:/\n0::/\n");
	n->now_ns = n->due_ns;
	settle(n);
	expect_events(n, "+slurm:1@1 ");
}

static void wanted(void **state)
{
	struct node *n = *state;

	configure(n,
		  "jobs:\n  kinds: [slurm, unit]\n  exclude: [\"slurm:13\", \"unit:*.slice\"]\n");
	settle(n);
	birth(n, BIRTH_MADE, MEMORY, 1, "/slurm/uid_0/job_13");
	birth(n, BIRTH_MADE, MEMORY, 2, "/docker/" ID_A);
	birth(n, BIRTH_MADE, MEMORY, 3, "/system.slice");
	expect_events(n, "");
	birth(n, BIRTH_MADE, MEMORY, 4, "/system.slice/a.service");
	birth(n, BIRTH_MADE, MEMORY, 5, "/system.slice/a.service/b.service");
	expect_events(n, "+unit:a.service@1 ");
	birth(n, BIRTH_REMOVED, MEMORY, 1, "/slurm/uid_0/job_13");
	birth(n, BIRTH_REMOVED, MEMORY, 4, "/system.slice/a.service");
	expect_events(n, "-unit:a.service@0 ");
}

/* Runtimes write the name before the cgroup is made, the kubelet after it and before the first
 * container. */
static void named(void **state)
{
	struct node *n = *state;

	configure(n, "jobs:\n  exclude: [\"pod:kube-system/*\", \"container:secret\"]\n");
	settle(n);
	scratch_write(&n->s, "var/lib/docker/containers/" ID_A "/config.v2.json",
		      "{\"Name\":\"/train\"}");
	birth(n, BIRTH_MADE, MEMORY, 1, "/docker/" ID_A);
	expect_events(n, "+container:train@1 ");
	birth(n, BIRTH_REMOVED, MEMORY, 1, "/docker/" ID_A);
	expect_events(n, "-container:train@0 ");
	scratch_write(&n->s, "var/lib/docker/containers/" ID_A "/config.v2.json",
		      "{\"Name\":\"/secret\"}");
	birth(n, BIRTH_MADE, MEMORY, 1, "/docker/" ID_A);
	expect_events(n, "");
	birth(n, BIRTH_MADE, MEMORY, 2, POD_PATH);
	expect_events(n, "");
	scratch_write(&n->s, "var/log/pods/ml_train-0_" POD "/worker/0.log", "");
	birth(n, BIRTH_MADE, MEMORY, 3, POD_PATH "/" ID_A);
	expect_events(n, "+pod:ml/train-0@1 ");
	birth(n, BIRTH_MADE, MEMORY, 4, POD_PATH "/" ID_A "/b");
	expect_events(n, "");
	birth(n, BIRTH_REMOVED, MEMORY, 2, POD_PATH);
	expect_events(n, "-pod:ml/train-0@0 ");
	/* Without logs it has its UID. */
	birth(n, BIRTH_MADE, MEMORY, 5, "/kubepods/pod" OTHER_POD);
	expect_events(n, "");
	birth(n, BIRTH_MADE, MEMORY, 6, "/kubepods/pod" OTHER_POD "/" ID_A);
	expect_events(n, "+pod:" OTHER_POD "@1 ");
}

/* A pod that ran at the start before its name was known, and one of the system. */
static void named_late(void **state)
{
	struct node *n = *state;

	configure(n, "jobs:\n  exclude: [\"pod:kube-system/*\"]\n");
	make(n, "memory" POD_PATH);
	settle(n);
	expect_events(n, "+pod:" POD "@1 ");
	scratch_write(&n->s, "var/log/pods/kube-system_etcd_" POD "/etcd/0.log", "");
	birth(n, BIRTH_MADE, MEMORY, 3, POD_PATH "/" ID_A);
	expect_events(n, "-pod:kube-system/etcd@1 ");
}

/* Other settings, while jobs are there. */
static void selected_again(void **state)
{
	struct node *n = *state;
	struct node_config before;

	make(n, "memory/slurm/uid_1000/job_12");
	make(n, "memory/slurm/uid_1000/job_13");
	settle(n);
	*n->events = '\0';
	before = n->config;
	memset(&n->config, 0, sizeof(n->config));
	configure(n, "jobs: {include: [\"*:13\"]}");
	discover_select(n->d, &n->config);
	node_config_free(&before);
	/* A job that stays may have changed as well. */
	assert_non_null(strstr(n->events, "-slurm:12@1 "));
	assert_non_null(strstr(n->events, "=slurm:13@1 "));
	assert_int_equal(strlen(n->events), strlen("-slurm:12@1 =slurm:13@1 "));
	*n->events = '\0';
	configure(n, "");
	discover_select(n->d, &n->config);
	assert_non_null(strstr(n->events, "+slurm:12@1 "));
	*n->events = '\0';
	settle(n);
	expect_events(n, "");
}

/* Jobs that a walk did not come to have not ended. */
static void failed_read(void **state)
{
	struct node *n = *state;

	make(n, "memory/slurm_n1/uid_1000/job_12");
	settle(n);
	expect_events(n, "+slurm:12@1 ");
	n->dropped++;
	n->now_ns += 2 * (uint64_t)SECOND;
	reads_fail = true;
	assert_int_equal(discover_settle(n->d, n->dropped, n->now_ns, &n->due_ns), -EIO);
	reads_fail = false;
	expect_events(n, "");
	n->now_ns = n->due_ns;
	settle(n);
	expect_events(n, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(at_the_start), TEST(imitations),  TEST(births),	     TEST(cut_paths),
		TEST(lost_records), TEST(failed_walk), TEST(failed_read),    TEST(wanted),
		TEST(named),	    TEST(named_late),  TEST(selected_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
