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
#include "selector_trees.h"

static const struct mountinfo no_mounts;
static const struct selector_places fixture = {.proc_root = FIXTURES "/proc", .mounts = &no_mounts};

static void pid_tree(void **state)
{
	struct selector s;
	struct errtext err;

	assert_int_equal(selector_resolve(&fixture, SELECTOR_PID, "100", &s, &err), 0);
	assert_int_equal(s.kind, SELECTED_PIDS);
	assert_string_equal(s.text, "pid: 100, command: python3, uid: 1000");
	assert_string_equal(s.name, "python3[100]");
	assert_string_equal(s.identity.kind, "pid");
	assert_string_equal(s.identity.id, "100");
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

static void texts(void **state)
{
	static const struct {
		enum selector_request request;
		const char *value, *text, *name, *kind, *id;
	} rows[] = {
		{SELECTOR_CGROUP, "/a b/train", "cgroup: '/a b/train', uid: 1000", "train",
		 "cgroup", "/a b/train"},
		{SELECTOR_CGROUP, "/", "cgroup: /, uid: 1000", "/", "cgroup", "/"},
		{SELECTOR_CGROUP, "/\033\xff", "cgroup: $'/\\x1b\\xff', uid: 1000", "$'\\x1b\\xff'",
		 "cgroup", "/\033\xff"},
		{SELECTOR_NAME, "train", "cgroup: '/a b/train', uid: 1000", "train", "cgroup",
		 "/a b/train"},
		/* A cgroup may have a number as its name. */
		{SELECTOR_NAME, "77", "cgroup: /77", "77", "cgroup", "/77"},
		{SELECTOR_SLURM, "400",
		 "slurm: 400, cgroup: /system.slice/slurmstepd.scope/job_400, uid: 1000",
		 "slurm:400", "slurm", "400"},
		{SELECTOR_SLURM, "400.batch",
		 "slurm: 400.batch, cgroup: /system.slice/slurmstepd.scope/job_400/step_batch",
		 "slurm:400.batch", "slurm", "400"},
		{SELECTOR_UNIT, "db", "unit: db, cgroup: /system.slice/db.service, uid: 1000", "db",
		 "unit", "db"},
		{SELECTOR_NAME, "db.service",
		 "unit: db.service, cgroup: /system.slice/db.service, uid: 1000", "db.service",
		 "unit", "db.service"},
	};
	struct trees *t = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s;
		struct errtext err = {""};

		if (selector_resolve(&t->places, rows[i].request, rows[i].value, &s, &err))
			fail_msg("%s: %s", rows[i].value, err.text);
		assert_string_equal(s.text, rows[i].text);
		assert_string_equal(s.name, rows[i].name);
		assert_string_equal(s.identity.kind, rows[i].kind);
		assert_string_equal(s.identity.id, rows[i].id);
		if (strchr(rows[i].value, '.') && rows[i].request == SELECTOR_SLURM)
			assert_string_equal(s.identity.step, "batch");
		else
			assert_null(s.identity.step);
		assert_null(s.identity.job_name);
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
		{SELECTOR_NAME, "999", "/v2 has this name"},
		{SELECTOR_NAME, "nothing", "/v2 has that name"},
		{SELECTOR_SLURM, "400.0", "no Slurm job '400.0'"},
		{SELECTOR_SLURM, "40.batch", "no Slurm job '40.batch'"},
		{SELECTOR_SLURM, "999", "no Slurm job '999'"},
		{SELECTOR_UNIT, "train", "no systemd unit 'train'"},
		{SELECTOR_CONTAINER, "db", "no running container 'db'"},
		{SELECTOR_SLURM, "999", "/v2, and for its slurmstepd in the list of processes"},
		{SELECTOR_CONTAINER, "db", "/var/lib/docker, /var/lib/containers"},
		{SELECTOR_POD, "default/web", "no running pod 'default/web'"},
		{SELECTOR_POD, "default/web", "in /var/log/pods"},
		{SELECTOR_UNIT, "train", "/v2"},
		{SELECTOR_POD, "default/web", "/v2, and for NAMESPACE/NAME"},
		{SELECTOR_VM, "web", "no virtual machine of libvirt 'web'"},
		{SELECTOR_VM, "web", "/v2"},
		{SELECTOR_CGROUP, "/x/y", "no cgroup /x/y"},
		{SELECTOR_CGROUP, "/x/y", "not below"},
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

static void cgroup_namespace(void **state)
{
	struct trees *t = *state;
	struct selector_places places = own_proc(t);
	struct selector s;
	struct errtext err;

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
	assert_string_equal(s.identity.kind, "command");
	assert_null(s.identity.id);
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
		cmocka_unit_test_setup_teardown(cgroup_namespace, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
