/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "cachemon/job/proctree.h"
#include "cachemon/job/selector.h"
#include "scratch.h"

static const struct mountinfo no_mounts;
static const struct selector_places fixture = {.proc_root = FIXTURES "/proc", .mounts = &no_mounts};

static bool has(const struct selector *s, pid_t tgid)
{
	for (size_t i = 0; i < s->nr_tgids; i++) {
		if (s->tgids[i] == tgid)
			return true;
	}
	return false;
}

static void pid_tree(void **state)
{
	struct selector s;
	struct errtext err;

	assert_int_equal(selector_resolve(&fixture, SELECTOR_PID, "100", &s, &err), 0);
	assert_int_equal(s.kind, SELECTED_PIDS);
	assert_string_equal(s.text, "pid: 100, command: python3, uid: 1000");
	assert_string_equal(s.name, "python3[100]");
	assert_int_equal(s.cgroup.fd, -1);
	assert_int_equal(s.nr_tgids, 5);
	assert_int_equal(s.tgids[0], 100);
	/* Children, grandchildren, also with lower numbers, and leaders whose threads still run. */
	assert_true(has(&s, 200) && has(&s, 300) && has(&s, 50) && has(&s, 600));
	assert_int_equal(selector_refresh_pids(&fixture, &s, NULL), 0);
	assert_int_equal(s.nr_tgids, 5);
	selector_free(&s);
	/* A thread selects its process. */
	assert_int_equal(selector_resolve(&fixture, SELECTOR_PID, "101", &s, &err), 0);
	assert_string_equal(s.text, "pid: 100, command: python3, uid: 1000");
	assert_int_equal(s.nr_tgids, 5);
	selector_free(&s);
	/* A name that looks like other lines. */
	assert_int_equal(selector_resolve(&fixture, SELECTOR_PID, "700", &s, &err), 0);
	assert_int_equal(s.nr_tgids, 1);
	selector_free(&s);
	selector_free(&s);
}

struct noted {
	const struct proctree_link *links;
	size_t nr;
};

static int read_noted(void *ctx, struct proctree_link **ret, size_t *ret_nr)
{
	const struct noted *n = ctx;

	*ret = calloc(n->nr, sizeof(**ret));
	assert_non_null(*ret);
	memcpy(*ret, n->links, n->nr * sizeof(**ret));
	*ret_nr = n->nr;
	return 0;
}

/* 400 and 700 are children of init: the notes about processes that ended show whose descendants
 * they are. */
static void pid_tree_by_links(void **state)
{
	static const struct proctree_link links[] = {
		{400, 9000}, {9000, 8000}, {8000, 300}, {700, 7000}, {7000, 1}, {6000, 100},
	};
	struct noted all = {links, 6}, few = {links, 2};
	const struct proctree_notes by_all = {read_noted, &all}, by_few = {read_noted, &few};
	struct selector s;
	struct errtext err;

	assert_int_equal(selector_resolve(&fixture, SELECTOR_PID, "100", &s, &err), 0);
	assert_int_equal(selector_refresh_pids(&fixture, &s, &by_all), 0);
	/* A process that has ended is included: children it forked after the notes were read are
	 * found through it. */
	assert_int_equal(s.nr_tgids, 9);
	assert_true(has(&s, 400) && has(&s, 300) && !has(&s, 700) && !has(&s, 7000));
	assert_true(has(&s, 8000) && has(&s, 9000) && has(&s, 6000));
	/* With a missing link in the middle, the descendant is not found. */
	assert_int_equal(selector_refresh_pids(&fixture, &s, &by_few), 0);
	assert_int_equal(s.nr_tgids, 5);
	/* Gone, whatever the notes say. */
	s.tgids[0] = 6000;
	assert_int_equal(selector_refresh_pids(&fixture, &s, &by_all), -ESRCH);
	selector_free(&s);
}

static void pid_refused(void **state)
{
	static const struct {
		const char *value;
		int err;
		const char *text;
	} rows[] = {
		{"999", -ESRCH, "no such process: 999"},
		{"500", -ESRCH, "no such process: 500"}, /* ended but not reaped */
		{"800", -ESRCH, "no such process: 800"},
		{"2", -EINVAL, "process 2 (kthreadd) is a kernel thread"},
		{"0", -ERANGE, "'0' is not a process id"},
		{"-1", -EINVAL, "'-1' is not a process id"},
		{"100x", -EINVAL, "'100x' is not a process id"},
		{"", -EINVAL, "'' is not a process id"},
		{"2147483648", -ERANGE, "is not a process id"},
		{"\033[2J", -EINVAL, "'?[2J' is not a process id"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s = {.nr_tgids = 7};
		struct errtext err = {""};
		int e = selector_resolve(&fixture, SELECTOR_PID, rows[i].value, &s, &err);

		if (e != rows[i].err || !strstr(err.text, rows[i].text))
			fail_msg("'%s': %d %s", rows[i].value, e, err.text);
		assert_int_equal(s.nr_tgids, 7);
	}
}

/* A child is forked and noted after /proc was read. */
static int fork_and_note(void *ctx, struct proctree_link **ret, size_t *ret_nr)
{
	pid_t *child = ctx;

	*child = fork();
	if (!*child)
		for (;;)
			pause();
	*ret = calloc(1, sizeof(**ret));
	assert_non_null(*ret);
	**ret = (struct proctree_link){*child, getpid()};
	*ret_nr = 1;
	return 0;
}

static void forked_while_looked_at(void **state)
{
	const struct selector_places places = {.proc_root = "/proc", .mounts = &no_mounts};
	pid_t child = 0;
	const struct proctree_notes notes = {fork_and_note, &child};
	struct selector s;
	struct errtext err;
	char value[16];

	snprintf(value, sizeof(value), "%d", getpid());
	assert_int_equal(selector_resolve(&places, SELECTOR_PID, value, &s, &err), 0);
	assert_int_equal(selector_refresh_pids(&places, &s, &notes), 0);
	assert_true(child > 0 && has(&s, child));
	selector_free(&s);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Real processes: a child and its child, then the child's end. */
static void real_processes(void **state)
{
	const struct selector_places places = {.proc_root = "/proc", .mounts = &no_mounts};
	int up[2], down[2];
	pid_t child, grandchild = 0;
	char value[16], byte;
	struct selector s;

	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(down[1]);
		grandchild = fork();
		if (grandchild == 0) {
			if (read(down[0], &byte, 1))
				_exit(1);
			_exit(0);
		}
		if (write(up[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	close(down[0]);
	assert_int_equal(read(up[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	snprintf(value, sizeof(value), "%d", child);
	assert_int_equal(selector_resolve(&places, SELECTOR_PID, value, &s, NULL), 0);
	assert_int_equal(s.nr_tgids, 2);
	assert_int_equal(s.tgids[0], child);
	assert_int_equal(s.tgids[1], grandchild);
	close(down[1]);
	close(up[0]);
	close(up[1]);
	/* Ended but not reaped: gone for a watcher. */
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(selector_refresh_pids(&places, &s, NULL), -ESRCH);
	assert_int_equal(s.nr_tgids, 2);
	assert_int_equal(waitpid(child, NULL, 0), child);
	selector_free(&s);
}

struct trees {
	struct scratch s;
	struct mountinfo mi;
	struct selector_places places;
};

static int setup(void **state)
{
	static struct trees t;
	char text[2 * PATH_MAX];

	memset(&t, 0, sizeof(t));
	scratch_new(&t.s);
	scratch_write(&t.s, "v2/cgroup.procs", "1\n");
	scratch_write(&t.s, "v2/a b/train/cgroup.procs", "1\n");
	scratch_write(&t.s, "v2/77/cgroup.procs", "");
	scratch_write(&t.s, "v2/system.slice/slurmstepd.scope/job_400/cgroup.procs", "100\n1\n");
	scratch_write(&t.s, "v2/system.slice/slurmstepd.scope/job_400/step_batch/cgroup.procs", "");
	scratch_write(&t.s, "v2/system.slice/db.service/cgroup.procs", "1\n");
	scratch_write(&t.s, "v2/\033\xff/cgroup.procs", "1\n");
	snprintf(text, sizeof(text),
		 "1 0 8:1 / / rw - ext4 x rw\n2 1 0:32 / %s/v2 rw - cgroup2 none rw\n", t.s.dir);
	assert_int_equal(mountinfo_parse(text, strlen(text), &t.mi), 0);
	t.places = (struct selector_places){
		.proc_root = FIXTURES "/proc", .mounts = &t.mi, .root = t.s.dir};
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct trees *t = *state;

	mountinfo_free(&t->mi);
	scratch_free(&t->s);
	return 0;
}

static void texts(void **state)
{
	static const struct {
		enum selector_request request;
		const char *value, *text, *name;
	} rows[] = {
		{SELECTOR_CGROUP, "/a b/train", "cgroup: '/a b/train', uid: 1000", "train"},
		{SELECTOR_CGROUP, "/", "cgroup: /, uid: 1000", "/"},
		{SELECTOR_CGROUP, "/\033\xff", "cgroup: $'/\\x1b\\xff', uid: 1000",
		 "$'\\x1b\\xff'"},
		{SELECTOR_NAME, "train", "cgroup: '/a b/train', uid: 1000", "train"},
		/* A cgroup may have a number as its name. */
		{SELECTOR_NAME, "77", "cgroup: /77", "77"},
		{SELECTOR_SLURM, "400",
		 "slurm: 400, cgroup: /system.slice/slurmstepd.scope/job_400, uid: 1000",
		 "slurm:400"},
		{SELECTOR_SLURM, "400.batch",
		 "slurm: 400.batch, cgroup: /system.slice/slurmstepd.scope/job_400/step_batch",
		 "slurm:400.batch"},
		{SELECTOR_UNIT, "db", "unit: db, cgroup: /system.slice/db.service, uid: 1000",
		 "db"},
		{SELECTOR_NAME, "db.service",
		 "unit: db.service, cgroup: /system.slice/db.service, uid: 1000", "db.service"},
	};
	struct trees *t = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s;
		struct errtext err = {""};

		if (selector_resolve(&t->places, rows[i].request, rows[i].value, &s, &err))
			fail_msg("%s: %s", rows[i].value, err.text);
		assert_string_equal(s.text, rows[i].text);
		assert_string_equal(s.name, rows[i].name);
		selector_free(&s);
	}
}

static void not_found(void **state)
{
	static const struct {
		enum selector_request request;
		const char *value;
		const char *text;
	} rows[] = {
		{SELECTOR_NAME, "nothing",
		 "no job 'nothing': no systemd unit, container, virtual machine or cgroup"},
		/* Neither a process nor a Slurm job is meant by its number alone. */
		{SELECTOR_NAME, "999", "no job '999': no systemd unit, container"},
		{SELECTOR_NAME, "200", "give pid:200 or slurm:200"},
		{SELECTOR_NAME, "400", "give pid:400 or slurm:400"},
		{SELECTOR_NAME, "100x", "no systemd unit"},
		{SELECTOR_SLURM, "400.0", "no Slurm job '400.0'"},
		{SELECTOR_SLURM, "40.batch", "no Slurm job '40.batch'"},
		{SELECTOR_SLURM, "999", "no Slurm job '999'"},
		{SELECTOR_UNIT, "train", "no systemd unit 'train'"},
		{SELECTOR_CONTAINER, "db", "no running container 'db'"},
		{SELECTOR_SLURM, "999", "/v2, and for its slurmstepd in the list of processes"},
		{SELECTOR_CONTAINER, "db", "/var/lib/docker, /var/lib/containers"},
		{SELECTOR_POD, "default/web", "no running pod 'default/web'"},
		{SELECTOR_POD, "default/web", "in /var/log/pods"},
		{SELECTOR_VM, "web", "no virtual machine of libvirt 'web'"},
		{SELECTOR_CGROUP, "/x/y", "no cgroup /x/y"},
	};
	struct trees *t = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s;
		struct errtext err = {""};

		assert_int_equal(
			selector_resolve(&t->places, rows[i].request, rows[i].value, &s, &err),
			-ENOENT);
		if (!strstr(err.text, rows[i].text))
			fail_msg("%s: %s", rows[i].value, err.text);
	}
}

#define ID_A	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B	    "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define ID_C	    "aaaaaaaaaaaabbbbbbbbbbbbccccccccccccddddddddddddeeeeeeeeeeeeffff"
#define UID_OLD	    "11111111-b6e6-4246-bd66-d48d429dbc12"
#define UID_NEW	    "5ba385ca-b6e6-4246-bd66-d48d429dbc12"
#define UID_SYSTEMD "22222222-b6e6-4246-bd66-d48d429dbc12"
#define UID_STATIC  "0123456789abcdef0123456789abcdef"

/* Names that a runtime or the kubelet gave, in the forms in which they keep them. */
static void names_of_runtimes(void **state)
{
	static const struct {
		enum selector_request request;
		const char *value, *text; /* or what the refusal says */
		int err;
	} rows[] = {
		{SELECTOR_CONTAINER, "dtrain", "container: dtrain, cgroup: /docker/" ID_A, 0},
		{SELECTOR_NAME, "dtrain", "container: dtrain, cgroup: /docker/" ID_A, 0},
		{SELECTOR_CONTAINER, "ptrain",
		 "container: ptrain, cgroup: /machine.slice/libpod-" ID_B ".scope", 0},
		{SELECTOR_CONTAINER, "mytask", "container: mytask, cgroup: /default/mytask", 0},
		{SELECTOR_CONTAINER, "worker",
		 "container: worker, cgroup: /kubepods/burstable/pod" UID_NEW "/" ID_C, 0},
		/* Known to its runtime, but it does not run. */
		{SELECTOR_CONTAINER, "ended", "no running container 'ended'", -ENOENT},
		{SELECTOR_CONTAINER, "twin", "'twin' names several containers, in the cgroups",
		 -ENOTUNIQ},
		{SELECTOR_POD, "ml/train-0",
		 "pod: ml/train-0, cgroup: /kubepods/burstable/pod" UID_NEW, 0},
		{SELECTOR_POD, UID_NEW, "pod: " UID_NEW ", cgroup: /kubepods/burstable/pod" UID_NEW,
		 0},
		{SELECTOR_POD, "ml/web",
		 "pod: ml/web, cgroup: "
		 "/kubepods.slice/kubepods-pod22222222_b6e6_4246_bd66_d48d429dbc12.slice",
		 0},
		{SELECTOR_POD, "kube-system/etcd-n1",
		 "pod: kube-system/etcd-n1, cgroup: /kubepods/pod" UID_STATIC, 0},
		{SELECTOR_POD, "ml/train", "no running pod 'ml/train'", -ENOENT},
		{SELECTOR_POD, "train-0", "no running pod 'train-0'", -ENOENT},
		{SELECTOR_VM, "lab-1",
		 "vm: lab-1, cgroup: '/machine.slice/machine-qemu\\x2d3\\x2dlab\\x2d1.scope'", 0},
		{SELECTOR_VM, "old", "vm: old, cgroup: /machine/qemu-4-old.libvirt-qemu", 0},
		{SELECTOR_VM, "lab", "no virtual machine", -ENOENT},
	};
	struct trees *t = *state;
	struct scratch *s = &t->s;

	scratch_write(s, "v2/docker/" ID_A "/cgroup.procs", "");
	scratch_write(s, "var/lib/docker/containers/" ID_A "/config.v2.json",
		      "{\"ID\":\"" ID_A "\",\"Name\":\"/dtrain\"}");
	scratch_write(s, "var/lib/docker/containers/" ID_C "/config.v2.json",
		      "{\"Name\":\"/twin\"}");
	scratch_write(s, "var/lib/docker/containers/broken/config.v2.json", "{\"Name\":");
	scratch_write(s, "var/lib/docker/containers/odd/config.v2.json", "[7]");
	scratch_write(s, "v2/machine.slice/libpod-" ID_B ".scope/cgroup.procs", "");
	scratch_write(s, "var/lib/containers/storage/overlay-containers/containers.json",
		      "[{\"id\":\"" ID_B "\",\"names\":[\"ptrain\",\"twin\"]},"
		      "{\"id\":\"" ID_C "0\",\"names\":[\"ended\"]},{\"names\":[7]},7]");
	scratch_write(s, "v2/default/mytask/cgroup.procs", "");
	scratch_write(s, "run/containerd/io.containerd.runtime.v2.task/default/mytask/config.json",
		      "{\"linux\":{\"cgroupsPath\":\"/default/mytask\"}}");
	scratch_write(s, "v2/kubepods/burstable/pod" UID_NEW "/" ID_C "/cgroup.procs", "");
	scratch_write(s, "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_C "/config.json",
		      "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"worker\"},"
		      "\"linux\":{\"cgroupsPath\":\"kubepods-burstable-pod.slice:cri:" ID_C "\"}}");
	/* A pod of that name that was deleted has left its logs. */
	scratch_write(s, "var/log/pods/ml_train-0_" UID_OLD "/worker/0.log", "");
	scratch_write(s, "var/log/pods/ml_train-0_" UID_NEW "/worker/0.log", "");
	scratch_write(s, "var/log/pods/ml_web_" UID_SYSTEMD "/web/0.log", "");
	scratch_write(s, "var/log/pods/kube-system_etcd-n1_" UID_STATIC "/etcd/0.log", "");
	scratch_write(s,
		      "v2/kubepods.slice/kubepods-pod22222222_b6e6_4246_bd66_d48d429dbc12.slice/"
		      "cgroup.procs",
		      "");
	scratch_write(s, "v2/kubepods/pod" UID_STATIC "/cgroup.procs", "");
	scratch_write(s, "v2/machine.slice/machine-qemu\\x2d3\\x2dlab\\x2d1.scope/cgroup.procs",
		      "");
	scratch_write(s, "v2/machine/qemu-4-old.libvirt-qemu/cgroup.procs", "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector sel;
		struct errtext err = {""};
		int e = selector_resolve(&t->places, rows[i].request, rows[i].value, &sel, &err);

		if (e != rows[i].err || !strstr(e ? err.text : sel.text, rows[i].text))
			fail_msg("%s: %d %s", rows[i].value, e, e ? err.text : sel.text);
		if (!e)
			selector_free(&sel);
	}
}

/* A process below dir/proc, as the kernel shows it. */
static void process(struct scratch *s, int pid, int ppid, const char *uids, const char *exe,
		    const char *cmdline)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "proc/%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tx\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\n"
		 "Uid:\t%s\nThreads:\t1\n",
		 pid, pid, ppid, uids);
	scratch_write(s, name, text);
	snprintf(name, sizeof(name), "proc/%d/cmdline", pid);
	scratch_write(s, name, cmdline);
	snprintf(name, sizeof(name), "proc/%d/exe", pid);
	scratch_symlink(s, name, exe);
	snprintf(name, sizeof(name), "proc/%d/ns/pid", pid);
	scratch_symlink(s, name, pid == 83 ? "pid:[4026532999]" : "pid:[4026531836]");
}

/* Without a cgroup a job's processes are those below slurmstepd, which only root can be. */
static void slurm_without_cgroup(void **state)
{
	static const char stepd[] = "/usr/sbin/slurmstepd-wlm", root[] = "0\t0\t0\t0";
	static const char alice[] = "1000\t1000\t1000\t1000";
	struct trees *t = *state;
	struct selector_places places = t->places;
	struct scratch *s = &t->s;
	struct selector sel;
	struct errtext err;
	char proc[PATH_MAX];

	places.proc_root = scratch_path(s, "proc", proc);
	scratch_symlink(s, "proc/self/ns/cgroup", "cgroup:[4026531835]");
	scratch_write(s, "proc/self/status", "Name:\tx\nTgid:\t1\n");
	process(s, 1, 0, root, "/sbin/init", "init");
	process(s, 70, 1, root, stepd, "slurmstepd: [14.batch]    ");
	process(s, 71, 70, alice, "/bin/sh", "/bin/sh");
	process(s, 72, 1, root, stepd, "slurmstepd: [14.0]    ");
	process(s, 73, 72, alice, "/usr/bin/python3", "python3");
	process(s, 74, 1, root, stepd, "slurmstepd: [140.0]    ");
	process(s, 75, 74, alice, "/bin/sh", "/bin/sh");
	/* Of users that call their programs so: also one that becomes root. */
	process(s, 80, 1, alice, stepd, "slurmstepd: [14.0]    ");
	process(s, 81, 1, "1000\t0\t0\t0", "/usr/bin/passwd", "slurmstepd: [14.0]    ");
	process(s, 82, 1, root, "/usr/bin/sleep", "slurmstepd: [14.0]    ");
	/* A process of root in a container. */
	process(s, 83, 1, root, stepd, "slurmstepd: [14.0]    ");
	scratch_symlink(s, "proc/self/ns/pid", "pid:[4026531836]");
	scratch_write(s, "proc/73/environ", "A=b");
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "14", &sel, &err), 0);
	assert_int_equal(sel.kind, SELECTED_PIDS);
	assert_string_equal(sel.text, "slurm: 14, without a cgroup, pid: 70, uid: 1000");
	assert_string_equal(sel.name, "slurm:14");
	assert_int_equal(sel.nr_roots, 2);
	assert_int_equal(sel.nr_tgids, 4);
	assert_true(has(&sel, 70) && has(&sel, 71) && has(&sel, 72) && has(&sel, 73));
	/* A step ends, the job goes on. */
	process(s, 70, 1, root, stepd, "");
	scratch_write(s, "proc/70/status",
		      "Name:\tx\nState:\tZ (zombie)\nTgid:\t70\nPPid:\t1\nThreads:\t1\n");
	assert_int_equal(selector_refresh_pids(&places, &sel, NULL), 0);
	assert_int_equal(sel.nr_roots, 1);
	assert_int_equal(sel.tgids[0], 72);
	assert_true(!has(&sel, 71) && has(&sel, 73));
	selector_free(&sel);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "14.0", &sel, &err), 0);
	assert_string_equal(sel.text, "slurm: 14.0, without a cgroup, pid: 72, uid: 1000");
	assert_int_equal(sel.nr_tgids, 2);
	selector_free(&sel);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "1", &sel, &err), -ENOENT);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "14.1", &sel, &err), -ENOENT);
}

static void write_environ(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* The name and partition in the environment of a process of that job. */
static void slurm_hints(void **state)
{
	static const struct {
		const char *environ;
		size_t len;
		const char *rest;
	} rows[] = {
#define ENVIRON(s) s, sizeof(s)
		{ENVIRON("HOME=/\0SLURM_JOB_ID=400\0SLURM_JOB_NAME=train\0SLURM_JOB_PARTITION=gpu"),
		 ", uid: 1000, name: train, partition: gpu"},
		{ENVIRON("SLURM_JOB_NAME=a b\0SLURM_JOB_ID=400"), ", uid: 1000, name: 'a b'"},
		{ENVIRON("SLURM_JOB_ID=401\0SLURM_JOB_NAME=other"), ", uid: 1000"},
		{ENVIRON("XSLURM_JOB_ID=400\0SLURM_JOB_NAME=other"), ", uid: 1000"},
		{ENVIRON(""), ", uid: 1000"},
#undef ENVIRON
	};
	struct trees *t = *state;
	struct selector_places places = t->places;
	char proc[PATH_MAX], path[PATH_MAX];
	struct selector last;

	places.proc_root = scratch_path(&t->s, "proc", proc);
	scratch_symlink(&t->s, "proc/self/ns/cgroup", "cgroup:[4026531835]");
	process(&t->s, 100, 1, "1000\t1000\t1000\t1000", "/usr/bin/python3", "python3");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s;
		struct errtext err = {""};

		write_environ(scratch_path(&t->s, "proc/100/environ", path), rows[i].environ,
			      rows[i].len);
		assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "400", &s, &err), 0);
		if (strcmp(s.text + strlen(s.text) - strlen(rows[i].rest), rows[i].rest) != 0)
			fail_msg("%s", s.text);
		selector_free(&s);
	}
	/* The environment is not shown to another user. */
	places.invoker = &(const struct invoker){.uid = 1001};
	write_environ(scratch_path(&t->s, "proc/100/environ", path), rows[0].environ, rows[0].len);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "400", &last, NULL), 0);
	assert_null(strstr(last.text, "name"));
	selector_free(&last);
}

static void cgroup_namespace(void **state)
{
	struct trees *t = *state;
	struct selector_places places = t->places;
	char proc[PATH_MAX];
	struct selector s;
	struct errtext err;

	places.proc_root = scratch_path(&t->s, "proc", proc);
	scratch_symlink(&t->s, "proc/self/ns/cgroup", "cgroup:[4026531835]");
	assert_int_equal(selector_resolve(&places, SELECTOR_CGROUP, "/a b", &s, &err), 0);
	selector_free(&s);
	scratch_symlink(&t->s, "proc/self/ns/cgroup", "cgroup:[4026532835]");
	assert_int_equal(selector_resolve(&places, SELECTOR_CGROUP, "/a b", &s, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "inside a cgroup namespace"));
}

/* A /proc that does not show the caller, or shows it from a parent namespace. */
static void other_pids(void **state)
{
	static const struct {
		const char *status;
		int err;
	} rows[] = {
		{NULL, -EOPNOTSUPP},
		{"Name:\tx\nTgid:\t7\nNSpid:\t7\n", -ESRCH},
		{"Name:\tx\nTgid:\t7\n", -ESRCH},
		{"Name:\tx\nTgid:\t7\nNSpid:\t7\t1\n", -EOPNOTSUPP},
		{"Name:\tx\nTgid:\t7\nNSpid:\t4321\t17\t1\nNSpgid:\t1\n", -EOPNOTSUPP},
	};
	struct trees *t = *state;
	struct selector_places places = t->places;
	char proc[PATH_MAX];

	places.proc_root = scratch_path(&t->s, "other", proc);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s;
		struct errtext err = {""};

		if (rows[i].status)
			scratch_write(&t->s, "other/self/status", rows[i].status);
		assert_int_equal(selector_resolve(&places, SELECTOR_PID, "7", &s, &err),
				 rows[i].err);
		if (rows[i].err == -EOPNOTSUPP)
			assert_non_null(strstr(err.text, "another pid namespace"));
	}
}

static void kinds_of_jobs(void **state)
{
	static const struct {
		const char *job;
		int err, request;
		const char *value; /* or a part of the error */
	} rows[] = {
		{"pid:14", 0, SELECTOR_PID, "14"},
		{"slurm:12.batch", 0, SELECTOR_SLURM, "12.batch"},
		{"unit:a:b.service", 0, SELECTOR_UNIT, "a:b.service"},
		{"container:0123456789ab", 0, SELECTOR_CONTAINER, "0123456789ab"},
		{"cgroup:/a:b", 0, SELECTOR_CGROUP, "/a:b"},
		{"14", 0, SELECTOR_NAME, "14"},
		{"train", 0, SELECTOR_NAME, "train"},
		{"PID:14", 0, SELECTOR_NAME, "PID:14"},
		{"dbus-:1.2.service", 0, SELECTOR_NAME, "dbus-:1.2.service"},
		{"pod:default/web", 0, SELECTOR_POD, "default/web"},
		{"vm:guest", 0, SELECTOR_VM, "guest"},
		{"unit:", -EINVAL, 0, "a name is missing after 'unit:'"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum selector_request request;
		struct errtext err = {""};
		const char *value;

		assert_int_equal(selector_of_job(rows[i].job, &request, &value, &err), rows[i].err);
		if (rows[i].err) {
			assert_non_null(strstr(err.text, rows[i].value));
			continue;
		}
		assert_int_equal(request, rows[i].request);
		assert_string_equal(value, rows[i].value);
	}
}

static void command(void **state)
{
	char *const argv[] = {"/opt/my app/train.py", "--name", "it's", "\033]0;x\a", NULL};
	char *const plain[] = {"python3", "train.py", NULL};
	char *many[2000], *word = "aaaaaaaaaa";
	struct selector s;

	assert_int_equal(selector_command(plain, &s), 0);
	assert_int_equal(s.kind, SELECTED_COMMAND);
	assert_string_equal(s.text, "command: python3 train.py");
	assert_string_equal(s.name, "python3");
	assert_int_equal(s.cgroup.fd, -1);
	selector_free(&s);
	assert_int_equal(selector_command(argv, &s), 0);
	assert_string_equal(s.text, "command: '/opt/my app/train.py' --name 'it'\\''s' "
				    "$'\\x1b]0;x\\x07'");
	assert_string_equal(s.name, "train.py");
	selector_free(&s);
	for (size_t i = 0; i < 2000; i++)
		many[i] = word;
	many[1999] = NULL;
	assert_int_equal(selector_command(many, &s), 0);
	assert_true(strlen(s.text) < 4096 + 32);
	assert_string_equal(s.text + strlen(s.text) - 15, " aaaaaaaaaa ...");
	selector_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pid_tree),
		cmocka_unit_test(pid_tree_by_links),
		cmocka_unit_test(pid_refused),
		cmocka_unit_test(forked_while_looked_at),
		cmocka_unit_test(real_processes),
		cmocka_unit_test(command),
		cmocka_unit_test(kinds_of_jobs),
		cmocka_unit_test_setup_teardown(other_pids, setup, teardown),
		cmocka_unit_test_setup_teardown(texts, setup, teardown),
		cmocka_unit_test_setup_teardown(not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_runtimes, setup, teardown),
		cmocka_unit_test_setup_teardown(slurm_without_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(slurm_hints, setup, teardown),
		cmocka_unit_test_setup_teardown(cgroup_namespace, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
