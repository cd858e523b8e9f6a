/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: job access */
/* Jobs of Slurm: by their processes, and what their environment says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "selector_trees.h"

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
	static const char *const no_task[] = {"14_", "_3", "14_3x", "14_x"};
	struct trees *t = *state;
	struct selector_places places = own_proc(t);
	struct scratch *s = &t->s;
	struct selector sel;
	struct errtext err;

	scratch_write(s, "proc/self/status", "Name:\tx\nTgid:\t1\n");
	process(s, 1, 0, root, "/sbin/init", "init");
	process(s, 70, 1, root, stepd, "slurmstepd: [14.batch]    ");
	process(s, 71, 70, alice, "/bin/sh", "/bin/sh");
	process(s, 72, 1, root, stepd, "slurmstepd: [14.0]    ");
	process(s, 73, 72, alice, "/usr/bin/python3", "python3");
	process(s, 74, 1, root, stepd, "slurmstepd: [140.0]    ");
	process(s, 75, 74, alice, "/bin/sh", "/bin/sh");
	/* Processes to which users gave this name; one of them becomes root. */
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
	assert_string_equal(sel.identity.kind, "slurm");
	assert_string_equal(sel.identity.id, "14");
	assert_string_equal(sel.identity.step, "0");
	assert_int_equal(sel.nr_tgids, 2);
	selector_free(&sel);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "1", &sel, &err), -ENOENT);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "14.1", &sel, &err), -ENOENT);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "14_3.0", &sel, &err), -ENOENT);
	assert_string_equal(err.text,
			    "slurm:14_3.0 is a task of a job array: give the number of its own "
			    "job (JobId in 'scontrol show job 14_3')");
	for (size_t i = 0; i < sizeof(no_task) / sizeof(no_task[0]); i++) {
		assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, no_task[i], &sel, &err),
				 -ENOENT);
		assert_non_null(strstr(err.text, "no Slurm job"));
	}
}

/* The job is its user's, not that of root's slurmstepd, which Slurm moves into the cgroup first. */
static void user_of_a_cgroup(void **state)
{
	static const char stepd[] = "/usr/sbin/slurmstepd-wlm", root[] = "0\t0\t0\t0";
	static const char job[] = "v2/system.slice/slurmstepd.scope/job_7/cgroup.procs";
	struct trees *t = *state;
	struct selector_places places = own_proc(t);
	struct selector s;
	struct errtext err;

	process(&t->s, 70, 1, root, stepd, "slurmstepd: [7.0]");
	process(&t->s, 71, 70, "1000\t1000\t1000\t1000", "/bin/sh", "sh");
	scratch_write(&t->s, job, "70\n71\n");
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "7", &s, &err), 0);
	assert_int_equal(s.uid, 1000);
	assert_int_equal(s.pid, 71);
	assert_non_null(strstr(s.text, "/job_7, uid: 1000"));
	selector_free(&s);
	/* A job of root's, and one whose process has just ended. */
	scratch_write(&t->s, job, "70\n72\n");
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "7", &s, &err), 0);
	assert_int_equal(s.uid, 0);
	assert_int_equal(s.pid, 70);
	selector_free(&s);
}

static void write_environ(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Neither a process outside a job joins it by its environment, nor is there a job of that number.
 */
static void environment_is_no_identity(void **state)
{
	static const char environ[] = "SLURM_JOB_ID=15\0SLURM_STEP_ID=0\0SLURM_JOB_UID=7\0"
				      "SLURM_JOB_NAME=mine";
	struct trees *t = *state;
	struct selector_places places = own_proc(t);
	char path[PATH_MAX];
	struct selector s;
	struct errtext err;

	scratch_write(&t->s, "proc/self/status", "Name:\tx\nTgid:\t1\n");
	scratch_symlink(&t->s, "proc/self/ns/pid", "pid:[4026531836]");
	process(&t->s, 90, 1, "1000\t1000\t1000\t1000", "/usr/bin/python3", "python3");
	write_environ(scratch_path(&t->s, "proc/90/environ", path), environ, sizeof(environ));
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "15", &s, &err), -ENOENT);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "15.0", &s, &err), -ENOENT);
	process(&t->s, 70, 1, "0\t0\t0\t0", "/usr/sbin/slurmstepd", "slurmstepd: [15.0]");
	process(&t->s, 71, 70, "1001\t1001\t1001\t1001", "/bin/sh", "sh");
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "15", &s, &err), 0);
	assert_string_equal(s.text, "slurm: 15, without a cgroup, pid: 70, uid: 1001");
	assert_int_equal(s.nr_tgids, 2);
	assert_false(has(&s, 90));
	selector_free(&s);
}

/* The name and partition in the environment of a process of that job. */
static void slurm_hints(void **state)
{
	static const struct {
		const char *environ;
		size_t len;
		const char *rest, *name, *partition;
	} rows[] = {
#define ENVIRON(s) s, sizeof(s)
		{ENVIRON("HOME=/\0SLURM_JOB_ID=400\0SLURM_JOB_NAME=train\0SLURM_JOB_PARTITION=gpu"),
		 ", uid: 1000, name: train, partition: gpu", "train", "gpu"},
		{ENVIRON("SLURM_JOB_NAME=a b\0SLURM_JOB_ID=400"), ", uid: 1000, name: 'a b'", "a b",
		 NULL},
		{ENVIRON("SLURM_JOB_ID=401\0SLURM_JOB_NAME=other"), ", uid: 1000", NULL, NULL},
		{ENVIRON("XSLURM_JOB_ID=400\0SLURM_JOB_NAME=other"), ", uid: 1000", NULL, NULL},
		{ENVIRON(""), ", uid: 1000", NULL, NULL},
#undef ENVIRON
	};
	struct trees *t = *state;
	struct selector_places places = own_proc(t);
	char path[PATH_MAX];
	struct selector last;

	process(&t->s, 100, 1, "1000\t1000\t1000\t1000", "/usr/bin/python3", "python3");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selector s;
		struct errtext err = {""};

		write_environ(scratch_path(&t->s, "proc/100/environ", path), rows[i].environ,
			      rows[i].len);
		assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "400", &s, &err), 0);
		if (strcmp(s.text + strlen(s.text) - strlen(rows[i].rest), rows[i].rest) != 0)
			fail_msg("%s", s.text);
		assert_string_equal(s.identity.job_name ?: "", rows[i].name ?: "");
		assert_string_equal(s.identity.partition ?: "", rows[i].partition ?: "");
		selector_free(&s);
	}
	/* The environment is not shown to another user. */
	places.invoker = &(const struct invoker){.uid = 1001};
	write_environ(scratch_path(&t->s, "proc/100/environ", path), rows[0].environ, rows[0].len);
	assert_int_equal(selector_resolve(&places, SELECTOR_SLURM, "400", &last, NULL), 0);
	assert_null(strstr(last.text, "name"));
	selector_free(&last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slurm_without_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(user_of_a_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(slurm_hints, setup, teardown),
		cmocka_unit_test_setup_teardown(environment_is_no_identity, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
