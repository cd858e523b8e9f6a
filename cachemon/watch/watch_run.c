/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/watch/watch_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/capture/map_memory.h"
#include "cachemon/plan/machine_plan.h"
#include "cachemon/plan/probe_build.h"
#include "cachemon/access/publish.h"
#include "cachemon/access/access.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/human.h"
#include "cachemon/access/paths.h"

/* Samples between two that write the sums of files, when their rows of each interval are given up:
 * a reader's files, and those of a run that is killed, are as old. The job's sums never wait. */
enum { FILE_SUMS_EVERY = 10 };

static int open_selector(struct watch_run *run, struct errtext *err)
{
	struct selector_places places = {.proc_root = "/proc"};
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
	/* A cgroup is a directory that somebody named; processes may be hidden from their user. */
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

static int try_report(void *arg, struct errtext *err)
{
	const struct watch_run *run = arg;

	return publish_place(run->o->report, err);
}

/* A long run should not end with a report that nobody can write. */
static int check_report(struct watch_run *run, struct errtext *err)
{
	int r = invoker_run(&run->invoker, try_report, run, err);

	return r ? errtext_set(err, r, "--report: %s", err->text) : 0;
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

/* After the hook is on, or not. */
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
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	run->started_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	run->start_ns = run->last_ns = run->hook_since_ns = clock_now_ns();
}

/* Calibrates in the directory of the database; the counting begins after it. */
static int warm_up(struct watch_run *run, struct errtext *err)
{
	char *dir = strdup(run->db), *slash = dir ? strrchr(dir, '/') : NULL;
	int r;

	if (slash)
		*slash = 0;
	watch_rights_try(run);
	r = calibrate(run->set, !slash ? "." : *dir ? dir : "/", &run->invoker, &run->calibration);
	free(dir);
	if (r)
		return errtext_set(err, r, "cannot begin to count: %s", strerror(-r));
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

int watch_run_new(const struct watch_options *o, struct watch_run **ret, struct errtext *err)
{
	struct watch_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return errtext_set(err, -ENOMEM, "out of memory");
	*ret = run;
	run->o = o;
	run->selector.cgroup.fd = -1;
	r = machine_plan_check(err);
	if (!r)
		r = invoker_current(&run->invoker, err);
	if (!r && o->report)
		r = check_report(run, err);
	if (!r)
		r = open_selector(run, err);
	if (!r)
		r = open_plan(run, err);
	/* Before anything is loaded: the child must not inherit a link or a map. */
	if (!r && o->command)
		r = command_prepare(o->command, &run->invoker, &run->command, err);
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

static int seed(struct watch_run *run, struct errtext *err)
{
	pid_t pid;
	int r;

	if (run->selector.kind == SELECTED_PIDS)
		return watch_seed_tree(run, err);
	if (!run->command)
		return probe_set_seed(run->set, NULL, 0, err);
	pid = command_pid(run->command);
	r = probe_set_seed(run->set, &pid, 1, err);
	watch_clock_begin(run);
	return r;
}

/* A name or a number may have been another job's. */
static void say_selector(const struct watch_run *run)
{
	struct errtext text;

	if (run->command)
		return;
	errtext_set(&text, 0, "watching %s", run->selector.text);
	watch_say(text.text);
}

int watch_run_start(struct watch_run *run, struct errtext *err)
{
	int r;

	/* First: it sets when the run began. */
	r = seed(run, err);
	if (r)
		return r;
	r = watch_describe(run, err);
	if (r)
		return r;
	run->described = true;
	say_selector(run);
	run->budget_seen_ns = run->start_ns;
	watch_traces_begin(run);
	watch_machine_begin(run);
	watch_run_look(run);
	r = watch_rights_drop(run, err);
	if (!r && run->command)
		r = command_go(run->command, err);
	return r;
}

/* With the per-read hook on, since the last sample. */
static uint64_t read_on_ns(struct watch_run *run, uint64_t now, uint64_t duration_ns, bool on)
{
	uint64_t all = watch_slices_on_ns(run, now), since = all - run->hook_on_seen_ns;

	run->hook_on_seen_ns = all;
	if (!run->sliced)
		return on ? duration_ns : 0;
	return since < duration_ns ? since : duration_ns;
}

static void make_room(struct watch_run *run)
{
	struct errtext err;
	int r = sampler_make_room(run->sampler);

	if (r) {
		errtext_set(&err, r, "cannot make room in the page state: %s", strerror(-r));
		watch_complain(&run->room_complained, err.text);
	} else {
		run->room_complained = false;
	}
}

int watch_run_sample(struct watch_run *run, bool last)
{
	bool on = probe_set_reads_on(run->set);
	struct sample s;
	struct errtext err;
	uint64_t now;
	int r;

	if (last)
		watch_looks_end(run);
	/* What was read counts, also beside an error. */
	r = sampler_take(run->sampler, last, &s, &err);
	if (r)
		watch_complain(&run->sampler_complained, err.text);
	else
		run->sampler_complained = false;
	now = s.end_ns;
	s.start_ns = run->last_ns - run->start_ns;
	s.duration_ns = now - run->last_ns;
	s.read_on_ns = read_on_ns(run, now, s.duration_ns, on);
	run->elapsed_ns += s.duration_ns;
	sampler_references(run->sampler, last, &s);
	if (run->machine)
		s.machine = machine_facts_take(run->machine, s.filesystems, s.nr_filesystems);
	watch_account(run, &s);
	watch_slices_sample(run, &s, on);
	watch_cost_take(run, &s);
	s.shed = run->shed_list;
	s.nr_shed = watch_shed_list(run);
	ledger_apply(run->ledger, &s);
	s.no_file_rows = !watch_writes_file_rows(run, s.duration_ns);
	s.file_sums_wait =
		s.no_file_rows && !last && !run->store_complained && run->samples % FILE_SUMS_EVERY;
	watch_traces_see(run, &s, last);
	watch_write(run, &s);
	watch_take_figures(run, &s);
	run->last_ns = now;
	if (!last)
		make_room(run);
	return r;
}

int watch_run_finish(struct watch_run *run, const int *exit_status)
{
	int r, end;

	if (exit_status)
		watch_outlived_find(run);
	r = watch_run_sample(run, true);
	/* CMD may go on for long: nothing of the run stays in the kernel. */
	sampler_free(run->sampler);
	probe_set_free(run->set);
	run->sampler = NULL;
	run->set = NULL;
	end = watch_end(run, exit_status);
	if (!r)
		r = end;
	return r ? r : run->interval_lost ? -EIO : 0;
}

void watch_run_abort(struct watch_run *run, int status)
{
	struct store_end end = {.exit_status = run->command ? &status : NULL};
	struct errtext err;

	if (run->described && store_end(run->store, run->ledger, &end, &err))
		watch_complain(&run->store_complained, err.text);
}

void watch_run_free(struct watch_run *run)
{
	if (!run)
		return;
	sampler_free(run->sampler);
	probe_set_free(run->set);
	machine_facts_free(run->machine);
	store_close(run->store);
	ledger_free(run->ledger);
	traces_free(run->traces);
	free(run->slices);
	command_free(run->command);
	selector_free(&run->selector);
	invoker_free(&run->invoker);
	free(run->db);
	free(run);
}

const char *watch_run_db(const struct watch_run *run)
{
	return run->db;
}

int64_t watch_run_id(const struct watch_run *run)
{
	return run->store ? store_run_id(run->store) : run->run_id;
}

const struct invoker *watch_run_invoker(const struct watch_run *run)
{
	return &run->invoker;
}

struct command *watch_run_command(struct watch_run *run)
{
	return run->command;
}

const struct selector *watch_run_selector(const struct watch_run *run)
{
	return &run->selector;
}

int watch_run_names_fd(const struct watch_run *run)
{
	return sampler_fd(run->sampler);
}

void watch_run_names(struct watch_run *run)
{
	sampler_names(run->sampler);
}

bool watch_run_pressed(const struct watch_run *run)
{
	return sampler_pressed(run->sampler);
}

bool watch_run_job_ended(const struct watch_run *run)
{
	return sampler_job_ended(run->sampler);
}

void watch_run_figures(const struct watch_run *run, struct watch_figures *ret)
{
	*ret = run->figures;
	ret->own_share = run->own_share;
	ret->elapsed_ns = run->elapsed_ns;
	ret->estimated = run->sliced;
	ret->over_budget = run->o->level != LEVEL_FULL && run->own_share > run->o->max_overhead;
	if (!run->samples)
		*ret = (struct watch_figures){
			.hit_ratio = -1,
			.lookups_per_s = -1,
			.misses_per_s = -1,
			.prefetch_accuracy = -1,
			.evictions_per_s = -1,
			.own_share = -1,
		};
}
