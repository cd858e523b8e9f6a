/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "report/report.h"
#include "util/human.h"
#include "util/paths.h"

/* How long one round of slices takes. */
#define SLICE_PERIOD_NS 1000000000.0
/* Before that much was seen, the budget is not judged. */
#define JUDGE_CPU_NS 50000000.0

static int open_selector(struct watch_run *run, struct errtext *err)
{
	struct selector_places places = {.proc_root = "/proc"};
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
	r = selector_resolve(&places, run->o->request, run->o->selector, &run->selector, err);
	mountinfo_free(&mounts);
	return r;
}

static int open_plan(struct watch_run *run, struct errtext *err)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	struct kernel_env env = {
		.root = "", .kinds = probe_table_kinds(table), .try_hook = hook_trial_run};
	struct plan_request request = {
		.level = run->o->level,
		.advice_calls = run->o->advice_calls,
		.cgroup = run->selector.kind == SELECTED_CGROUP,
	};
	size_t nr;
	int r = probe_table_hooks(table, hooks, KERNEL_HOOKS_MAX, &nr);

	if (!r)
		r = kernel_caps_read(&env, hooks, nr, &run->caps);
	if (r)
		return errtext_set(err, r, "cannot read what this kernel offers: %s", strerror(-r));
	probe_plan_make(&run->caps, &request, table, &run->plan);
	if (!run->plan.viable)
		return errtext_set(err, -ENOTSUP, "%s", run->plan.refusal);
	return 0;
}

static int open_probes(struct watch_run *run, struct errtext *err)
{
	struct probe_set_config config = {
		.ram_bytes = run->caps.ram_bytes,
		.nr_cpus = run->caps.nr_cpus,
		.cgroup = run->selector.kind == SELECTED_CGROUP ? &run->selector.cgroup : NULL,
		.advice_calls = run->o->advice_calls,
		.chunk_entries = run->o->chunk_entries,
		.row_entries = run->o->row_entries,
	};
	int r = probe_set_new(&config, &run->plan, &run->set, err);

	if (!r)
		r = sampler_new(run->set, &run->sampler, err);
	return r;
}

static int open_store(struct watch_run *run, struct errtext *err)
{
	struct store_config config = {.uid = run->invoker.uid, .gid = run->invoker.gid};
	char text[STORE_ERROR_MAX];
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
	r = store_open(&config, &run->store, text);
	return r ? errtext_set(err, r, "%s", text) : 0;
}

static uint64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* Calibrates in the directory of the database; what that counted is thrown away. */
static int warm_up(struct watch_run *run, struct errtext *err)
{
	char *dir = strdup(run->db), *slash = dir ? strrchr(dir, '/') : NULL;
	struct sample discard;
	int r = 0;

	if (slash)
		*slash = 0;
	probe_set_start(run->set);
	calibrate(run->set, !slash ? "." : *dir ? dir : "/", &run->calibration);
	free(dir);
	if (run->o->level != LEVEL_COLD && run->plan.choices[ROLE_READ].state == PROBE_LIVE) {
		/* Without it the run goes on as a cold one, and says so. */
		r = probe_set_reads(run->set, true);
		if (r)
			probe_plan_mark_failed(&run->plan, run->plan.choices[ROLE_READ].program, r);
	}
	r = sampler_take(run->sampler, false, &discard, err);
	if (!r)
		r = sampler_events(run->sampler, run->events0);
	run->cpu0_ns = own_cpu_ns();
	return r;
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
	r = invoker_current(&run->invoker, err);
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
	struct selector_places places = {.proc_root = "/proc"};
	pid_t pid;
	int r;

	if (run->command) {
		pid = command_pid(run->command);
		return probe_set_seed(run->set, &pid, 1, err);
	}
	r = probe_set_seed(run->set, run->selector.tgids, run->selector.nr_tgids, err);
	/* Forks are followed now; who was forked meanwhile by a task not yet seen is found by a
	 * second look. */
	if (!r && run->selector.kind == SELECTED_PIDS &&
	    !selector_refresh_pids(&places, &run->selector))
		r = probe_set_seed(run->set, run->selector.tgids, run->selector.nr_tgids, err);
	if (!r && run->selector.kind == SELECTED_PIDS && kill(run->selector.tgids[0], 0) &&
	    errno == ESRCH)
		r = errtext_set(err, -ESRCH, "process %d has ended", (int)run->selector.tgids[0]);
	return r;
}

int watch_run_start(struct watch_run *run, struct errtext *err)
{
	char text[STORE_ERROR_MAX];
	int r;

	r = watch_describe(run, text);
	if (r)
		return errtext_set(err, r, "%s", text);
	run->described = true;
	r = seed(run, err);
	if (r)
		return r;
	run->start_ns = run->last_ns = watch_now_ns();
	if (run->command)
		r = command_go(run->command, err);
	return r;
}

/*
 * What the run cost so far. cpu_ns is all of it, in whatever task a probe ran; the share of the
 * job's CPU time is what its own tasks paid, so that an A/B of their CPU time shows the same.
 */
static void account_cost(struct watch_run *run, struct sample *s)
{
	uint64_t runs[JOB_NR][EV_NR];
	double job, others, job_cpu = (double)s->jobs[JOB_WATCHED].cpu_ns;

	s->cost.probe_ns_per_lookup = run->calibration.ns[EV_READ];
	s->cost.share_of_job_cpu = -1;
	s->cost.advice_calls_ns = -1;
	s->cost.collector_cpu_ns = own_cpu_ns() - run->cpu0_ns;
	if (sampler_events(run->sampler, runs))
		return;
	for (int i = 0; i < JOB_NR * EV_NR; i++)
		runs[i / EV_NR][i % EV_NR] -= run->events0[i / EV_NR][i % EV_NR];
	job = cost_probe_ns(&run->calibration, runs[JOB_WATCHED]);
	others = cost_probe_ns(&run->calibration, runs[JOB_OTHERS]);
	if (job < 0)
		return;
	s->cost.probe_cpu_ns = (uint64_t)(job + others);
	s->cost.cpu_ns = s->cost.probe_cpu_ns + s->cost.collector_cpu_ns;
	if (job_cpu > 0)
		s->cost.share_of_job_cpu = job / job_cpu;
	if (run->o->advice_calls)
		s->cost.advice_calls_ns = run->calibration.ns[EV_ADVICE_CALL];
	run->read_ns = cost_read_ns(&run->calibration, runs[JOB_WATCHED]);
	run->own_ns = job + (double)s->cost.collector_cpu_ns - run->read_ns;
	run->job_cpu_ns = job_cpu;
	run->own_share = s->cost.share_of_job_cpu;
}

static void judge_budget(struct watch_run *run)
{
	struct cost_seen seen = {
		.job_cpu_ns = run->job_cpu_ns,
		.own_ns = run->own_ns,
		.read_ns = run->read_ns,
		.read_on_share = run->elapsed_ns ? (double)run->read_on_ns / run->elapsed_ns : 0,
	};

	if (run->o->level != LEVEL_AUTO || run->job_cpu_ns < JUDGE_CPU_NS || run->read_ns < 0)
		return;
	run->duty = cost_duty(&seen, run->o->max_overhead);
	if (run->duty < 1 && !run->sliced) {
		run->sliced = true;
		run->slice_ns = watch_now_ns();
	}
}

int watch_run_sample(struct watch_run *run, bool last)
{
	bool on = probe_set_reads_on(run->set);
	struct sample s;
	struct errtext err;
	uint64_t now;
	int r;

	if (last) {
		run->reads_at_end = on;
		probe_set_detach(run->set);
	}
	r = sampler_take(run->sampler, last, &s, &err);
	if (r) {
		watch_complain(run, err.text);
		return r;
	}
	now = watch_now_ns();
	s.start_ns = run->last_ns - run->start_ns;
	s.duration_ns = now - run->last_ns;
	s.read_on_ns = on ? s.duration_ns : 0;
	run->elapsed_ns += s.duration_ns;
	run->read_on_ns += s.read_on_ns;
	watch_account(run, &s, on);
	account_cost(run, &s);
	ledger_apply(run->ledger, &s);
	watch_write(run, &s);
	watch_take_figures(run, &s);
	run->last_ns = now;
	if (!last && sampler_wants_room(run->sampler))
		probe_set_make_room(run->set);
	if (!last)
		judge_budget(run);
	return 0;
}

uint64_t watch_run_slice_due(const struct watch_run *run)
{
	return run->sliced ? run->slice_ns : 0;
}

/* Samples lie wholly inside a slice: what they count is exact or absent, never mixed. */
void watch_run_slice(struct watch_run *run)
{
	bool on = probe_set_reads_on(run->set);
	double next;

	if (on && run->duty >= 1) {
		run->slice_ns = watch_now_ns() + (uint64_t)SLICE_PERIOD_NS;
		return;
	}
	watch_run_sample(run, false);
	if (probe_set_reads(run->set, !on))
		return;
	/* On for duty of the period, off for the rest of it. */
	next = on ? SLICE_PERIOD_NS * (1 - run->duty) : SLICE_PERIOD_NS * run->duty;
	run->slice_ns = watch_now_ns() + (uint64_t)next;
}

int watch_run_finish(struct watch_run *run, const int *exit_status)
{
	int r = watch_run_sample(run, true), end = watch_end(run, exit_status);

	return r ? r : end;
}

void watch_run_abort(struct watch_run *run, int status)
{
	struct store_end end = {.exit_status = run->command ? &status : NULL};
	char err[STORE_ERROR_MAX];

	if (run->described && store_end(run->store, run->ledger, &end, err))
		watch_complain(run, err);
}

void watch_run_free(struct watch_run *run)
{
	if (!run)
		return;
	sampler_free(run->sampler);
	probe_set_free(run->set);
	store_close(run->store);
	ledger_free(run->ledger);
	command_free(run->command);
	selector_free(&run->selector);
	invoker_free(&run->invoker);
	free(run->db);
	free(run);
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

uint64_t watch_run_processes(const struct watch_run *run)
{
	/* Before the first sample nobody has counted: the selector found them running. */
	return run->samples ? run->alive : run->selector.nr_tgids;
}

void watch_run_figures(const struct watch_run *run, struct watch_figures *ret)
{
	*ret = run->figures;
	ret->own_share = run->own_share;
	ret->elapsed_ns = run->elapsed_ns;
	ret->estimated = run->sliced;
	if (!run->samples)
		*ret = (struct watch_figures){-1, -1, -1, -1, -1, -1, false, 0};
}
