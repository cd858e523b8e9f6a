/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a run: what is watched, the probes, the database, and the capabilities that it keeps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/access/paths.h"
#include "cachemon/access/privileges.h"
#include "cachemon/access/publish.h"
#include "cachemon/base/clock.h"
#include "cachemon/capture/map_memory.h"
#include "cachemon/plan/machine_plan.h"
#include "cachemon/plan/probe_build.h"
#include "cachemon/watch/watch_run.h"

static int open_selector(struct watch_run *run, struct errtext *err)
{
	struct selector_places places = {.proc_root = "/proc", .invoker = &run->invoker};
	struct access saved = {0};
	struct mountinfo mounts;
	int r;

	if (run->o->command) {
		r = selector_command(run->o->command, &run->selector);
		return r ? errtext_set(err, r, "out of memory") : 0;
	}
	r = mountinfo_read("/proc/self/mountinfo", &mounts);
	if (r)
		return errtext_set(err, r, "cannot read /proc/self/mountinfo: %s", strerror(-r));
	places.mounts = &mounts;
	/* A user named the cgroup's directory; processes may be hidden from that user. */
	if (run->o->request == SELECTOR_CGROUP)
		r = access_enter(&run->invoker, &saved);
	if (!r)
		r = selector_resolve(&places, run->o->request, run->o->selector, &run->selector,
				     err);
	else
		errtext_set(err, r, "cannot act as user %u: %s", run->invoker.uid, strerror(-r));
	if (run->o->request == SELECTOR_CGROUP)
		access_leave(&saved);
	run->memory_cgroup = !r && run->selector.kind == SELECTED_CGROUP &&
			     cgroup_limits_memory(&mounts, &run->selector.cgroup);
	mountinfo_free(&mounts);
	return r;
}

static int open_plan(struct watch_run *run, struct errtext *err)
{
	struct plan_request request = {
		.level = run->o->level,
		.advice_calls = run->o->advice_calls,
		.cgroup = run->selector.kind == SELECTED_CGROUP,
	};

	return machine_plan_viable(&request, &run->caps, &run->plan, err);
}

static int open_probes(struct watch_run *run, struct errtext *err)
{
	struct probe_set_config config = {
		.caps = &run->caps,
		.ram_bytes = run->caps.ram_bytes,
		.nr_cpus = run->caps.nr_cpus,
		.cgroup = run->selector.kind == SELECTED_CGROUP ? &run->selector.cgroup : NULL,
		.advice_calls = run->o->advice_calls,
		.block_entries = run->o->block_entries,
		.row_entries = run->o->row_entries,
	};
	uint64_t bytes = map_memory_bytes(config.ram_bytes, config.nr_cpus, config.block_entries,
					  config.row_entries);
	int r = map_memory_check(bytes, run->caps.memlock_binds == CAPS_YES, true, err);

	if (!r)
		r = probe_set_new(&config, &run->plan, &run->set, err);
	if (!r)
		r = sampler_new(run->set, &run->sampler, err);
	return r;
}

static int try_place(void *path, struct errtext *err)
{
	return publish_place(path, err);
}

/* Fails early: a long run should not end with a file that cannot be written. path NULL: none. */
static int check_place(const struct watch_run *run, const char *option, const char *path,
		       struct errtext *err)
{
	int r = path ? invoker_run(&run->invoker, try_place, (void *)path, err) : 0;

	return r ? errtext_set(err, r, "%s: %s", option, err->text) : 0;
}

static int open_store(struct watch_run *run, struct errtext *err)
{
	struct store_config config = {.as = &run->invoker};
	int r = 0;

	if (run->o->db) {
		run->db = strdup(run->o->db);
		if (!run->db)
			r = errtext_set(err, -ENOMEM, "out of memory");
	} else {
		r = paths_default_db(&run->invoker, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"),
				     &run->db, err);
		if (!r)
			r = paths_make_parents(run->db, &run->invoker, err);
	}
	if (r)
		return r;
	config.path = run->db;
	return store_open(&config, &run->store, err);
}

void watch_hook_on(struct watch_run *run, enum probe_role role)
{
	const struct probe_choice *choice = &run->plan.choices[role];
	int r = choice->state == PROBE_LIVE ? probe_set_hook(run->set, role, true) : 0;

	if (r)
		probe_plan_mark_failed(&run->plan, choice->program, r);
}

/* Called once it is decided whether the hook is on. */
static void plan_references(struct watch_run *run)
{
	const char *why = probe_record_absent(&run->plan, RECORD_REFERENCES);

	snprintf(run->references_absent, sizeof(run->references_absent), "%s", why ?: "");
	if (!why)
		reference_ring_start(sampler_reference_ring(run->sampler));
	watch_budget_begin(run);
}

void watch_clock_begin(struct watch_run *run)
{
	run->started_ns = clock_read_ns(CLOCK_REALTIME);
	run->start_ns = run->last_ns = run->hook_since_ns = clock_now_ns();
}

#define LOADING (PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON))

/* Kept during the run: for timing the programs (bpf_enable_stats), and for the mounts of other
 * users' processes. Both are optional. */
#define GOING_ON (PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_SYS_PTRACE))

/* Kept for the files of the database, which belong to another user, and for signals to CMD. */
static uint64_t rights_for_files(const struct watch_run *run)
{
	if (run->invoker.switched)
		return PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) | PRIVILEGE(CAP_KILL);
	if (geteuid())
		return 0;
	/* A run of root may write anywhere, and into a user's database as that user. */
	return PRIVILEGE(CAP_DAC_OVERRIDE) | PRIVILEGE(CAP_CHOWN) | PRIVILEGE(CAP_FOWNER) |
	       (store_switches(run->store) ? PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) : 0);
}

/* The capabilities that a run needs once it has begun. Finding the job's processes is not among
 * them, because it is complete before capabilities are dropped. */
static int try_probes(struct watch_run *run)
{
	bool reads = run->plan.choices[ROLE_READ].state == PROBE_LIVE;
	uint64_t runs[JOB_NR][EV_NR];
	int r = probe_set_reads(run->set, false);

	if (!r && reads)
		r = probe_set_reads(run->set, true);
	if (!r)
		r = probe_set_sweep_names(run->set, NAMES_OF_ALL);
	if (!r)
		r = probe_set_events(run->set, runs);
	return r;
}

static void try_rights(struct watch_run *run)
{
	static const uint64_t loading[] = {0, PRIVILEGE(CAP_BPF), LOADING};
	uint64_t others = privileges_permitted() & (GOING_ON | rights_for_files(run)),
		 all = ~UINT64_C(0);
	size_t i = 0;

	/* CAP_SYS_ADMIN stands for both, so it stays out of the trial. */
	for (; i < 2; i++) {
		if (!privileges_use((others & ~PRIVILEGE(CAP_SYS_ADMIN)) | loading[i]) &&
		    !try_probes(run))
			break;
	}
	privileges_use(all);
	run->rights = others | loading[i];
}

/* Calibrates in the directory of the database; the counting begins after it. */
static int warm_up(struct watch_run *run, struct errtext *err)
{
	char *dir = strdup(run->db), *slash = dir ? strrchr(dir, '/') : NULL;
	int r;

	if (slash)
		*slash = 0;
	try_rights(run);
	r = calibrate(run->set, !slash ? "." : *dir ? dir : "/", &run->invoker, &run->calibration);
	free(dir);
	if (r)
		return errtext_set(err, r, "cannot start counting: %s", strerror(-r));
	/* The calibration switches them, and may have broken off in between. */
	if (run->o->level != LEVEL_COLD)
		watch_hook_on(run, ROLE_READ);
	watch_hook_on(run, ROLE_ADVICE_CALLS);
	sampler_forget(run->sampler);
	plan_references(run);
	probe_set_start(run->set);
	watch_clock_begin(run);
	return watch_cost_begin(run, err);
}

/* Without marks the run continues with a warning. */
static int prepare_command(struct watch_run *run, struct errtext *err)
{
	char variable[sizeof(MARKS_VARIABLE) + 300];
	struct errtext why;

	if (marks_new(&run->invoker, &run->marks, &why))
		watch_say(why.text);
	else
		snprintf(variable, sizeof(variable), "%s=%s", MARKS_VARIABLE,
			 marks_path(run->marks));
	return command_prepare(run->o->command, &run->invoker, run->marks ? variable : NULL, NULL,
			       &run->command, err);
}

int watch_run_new(const struct watch_options *o, struct watch_run **ret, struct errtext *err)
{
	struct watch_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return errtext_set(err, -ENOMEM, "out of memory");
	*ret = run;
	run->o = o;
	run->interval_ns = o->interval_ns ? o->interval_ns : WATCH_FINE_NS;
	run->selector.cgroup.fd = -1;
	r = machine_plan_check(err);
	if (!r)
		r = invoker_current(&run->invoker, err);
	if (!r)
		r = check_place(run, "--report", o->report, err);
	if (!r)
		r = check_place(run, "--metrics-file", o->metrics_file, err);
	if (!r && o->metrics_file)
		r = watch_metrics_begin(run, err);
	if (!r)
		r = open_selector(run, err);
	if (!r)
		r = open_plan(run, err);
	/* Forks before anything is loaded: the child must not inherit a link or a map. */
	if (!r && o->command)
		r = prepare_command(run, err);
	if (!r)
		r = ledger_new(NULL, &run->ledger) ? errtext_set(err, -ENOMEM, "out of memory") : 0;
	if (!r)
		r = open_store(run, err);
	if (!r)
		r = open_probes(run, err);
	if (!r)
		r = warm_up(run, err);
	return r;
}

int watch_rights_drop(struct watch_run *run, struct errtext *err)
{
	int r = privileges_keep(run->rights);

	return r ? errtext_set(err, r, "cannot give up capabilities: %s", strerror(-r)) : 0;
}
