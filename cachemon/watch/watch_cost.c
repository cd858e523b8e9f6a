/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of a run by part, and when the programs are timed during the run: briefly, from time
 * to time. */
#include <string.h>

#include "cachemon/base/clock.h"
#include "cachemon/watch/watch_run.h"

static const enum cost_part parts[EV_NR] = {
	[EV_READ] = COST_READS,	     [EV_ADD] = COST_PAGES,	    [EV_DELETE] = COST_PAGES,
	[EV_WINDOW] = COST_WINDOWS,  [EV_FAULT] = COST_FAULTS,	    [EV_MAP] = COST_FAULTS,
	[EV_SWITCH] = COST_SWITCHES, [EV_FORK_EXIT] = COST_OTHER,   [EV_DIRECT] = COST_OTHER,
	[EV_URING] = COST_OTHER,     [EV_ADVICE_CALL] = COST_OTHER, [EV_SCOPE] = COST_OTHER,
	[EV_SOCKET] = COST_OTHER,    [EV_VFS] = COST_OTHER,
};

int watch_cost_begin(struct watch_run *run, struct errtext *err)
{
	int r = probe_set_events(run->set, run->events0);

	if (r)
		return errtext_set(err, r, "cannot read the probes: %s", strerror(-r));
	cost_charge_begin(&run->charge, &run->calibration, run->events0[JOB_WATCHED]);
	memcpy(run->look_runs, run->events0[JOB_WATCHED], sizeof(run->look_runs));
	run->cpu0_ns = clock_own_cpu_ns();
	return 0;
}

/* For the job's tasks, by program; < 0: unknown. Includes programs on page faults of any
 * process. */
static double probes_ns(const struct watch_run *run, int64_t ret_parts[COST_PARTS])
{
	double sum = run->address_ns;

	for (int i = 0; i < COST_PARTS; i++)
		ret_parts[i] = i == COST_FAULTS ? (int64_t)run->address_ns : 0;
	for (int ev = 0; ev < EV_NR; ev++) {
		double ns = cost_charge_ns(&run->charge, (enum event)ev);

		if (ns < 0)
			return -1;
		ret_parts[parts[ev]] += (int64_t)ns;
		sum += ns;
	}
	return sum;
}

/* The cost of the run so far. cpu_ns is all of it, whatever task a probe ran in. The share of the
 * job's CPU time includes only the run time of probes in its own tasks. (An A/B test of their CPU
 * time would also include what the probes evict from the CPU's caches.) */
void watch_cost_take(struct watch_run *run, struct sample *s)
{
	uint64_t runs[JOB_NR][EV_NR];
	double probes, others, job_cpu = (double)s->jobs[JOB_WATCHED].cpu_ns;

	s->cost = (struct sample_cost){
		.cpu_ns = -1,
		.probe_cpu_ns = -1,
		.collector_cpu_ns = (int64_t)(clock_own_cpu_ns() - run->cpu0_ns),
		.probe_ns_per_lookup = run->calibration.ns[EV_READ],
		.share_of_job_cpu = -1,
		.advice_calls_ns = run->o->advice_calls ? run->calibration.ns[EV_ADVICE_CALL] : -1,
		.budget = run->o->level == LEVEL_FULL ? -1 : run->o->max_overhead,
		.share = -1,
	};
	run->own_share = -1;
	for (int i = 0; i < COST_PARTS; i++)
		s->cost.part_ns[i] = -1;
	if (probe_set_events(run->set, runs))
		return;
	cost_charge_runs(&run->charge, runs[JOB_WATCHED]);
	for (int ev = 0; ev < EV_NR; ev++)
		runs[JOB_OTHERS][ev] -= run->events0[JOB_OTHERS][ev];
	others = cost_probe_ns(&run->calibration, runs[JOB_OTHERS]);
	probes = probes_ns(run, s->cost.part_ns);
	if (probes < 0)
		return;
	if (others >= 0) {
		s->cost.probe_cpu_ns = (int64_t)(probes + others);
		s->cost.cpu_ns = s->cost.probe_cpu_ns + s->cost.collector_cpu_ns;
	}
	if (job_cpu <= 0)
		return;
	s->cost.share_of_job_cpu = probes / job_cpu;
	s->cost.share = (probes + (double)s->cost.collector_cpu_ns) / job_cpu;
	run->own_share = s->cost.share;
}

/* As of now, between samples too. */
int watch_cost_seen(struct watch_run *run, struct cost_seen *ret)
{
	uint64_t runs[JOB_NR][EV_NR];
	int64_t part_ns[COST_PARTS];
	struct sample_job job;
	int r = sampler_progress(run->sampler, &job);
	double probes;

	if (!r)
		r = probe_set_events(run->set, runs);
	if (r)
		return r;
	cost_charge_runs(&run->charge, runs[JOB_WATCHED]);
	probes = probes_ns(run, part_ns);
	*ret = (struct cost_seen){
		.job_cpu_ns = (double)job.cpu_ns,
		.own_ns = -1,
		.read_ns = cost_charge_ns(&run->charge, EV_READ),
		.read_on_share = watch_slices_on_share(run),
	};
	if (probes >= 0)
		ret->own_ns = probes - ret->read_ns + (double)(clock_own_cpu_ns() - run->cpu0_ns);
	return 0;
}

/* How long the programs are timed (longer if few run), and how rarely in the end, because timing
 * costs as much as a small program. At first it is frequent, because the job is unknown. */
#define LOOK_NS		  10000000ULL
#define LOOK_MAX_NS	  50000000ULL
#define LOOK_PAUSE_NS	  20000000ULL
#define LOOK_PAUSE_MAX_NS 2000000000ULL
/* How often to check whether the job is working. */
#define LOOK_TRY_NS 50000000ULL
/* Program runs in the job: the minimum for a measurement, and how many suffice. */
#define BUSY_RUNS   100
#define ENOUGH_RUNS 1000

/* ret_now: the job's runs of programs; ret_since: those since the measurement began or was last
 * tried. Returns the sum of the latter; 0: unknown. */
static uint64_t runs_since(struct watch_run *run, uint64_t ret_now[EV_NR],
			   uint64_t ret_since[EV_NR])
{
	uint64_t runs[JOB_NR][EV_NR], sum = 0;

	memcpy(ret_now, run->look_runs, sizeof(run->look_runs));
	memset(ret_since, 0, sizeof(run->look_runs));
	if (probe_set_events(run->set, runs))
		return 0;
	memcpy(ret_now, runs[JOB_WATCHED], sizeof(run->look_runs));
	for (int ev = 0; ev < EV_NR; ev++) {
		ret_since[ev] = ret_now[ev] - run->look_runs[ev];
		sum += ret_since[ev];
	}
	return sum;
}

void watch_looks_end(struct watch_run *run)
{
	uint64_t now[EV_NR], since[EV_NR];

	if (!run->looking)
		return;
	run->looking = false;
	if (runs_since(run, now, since))
		cost_charge_runs(&run->charge, now);
	calibrate_looked(run->set, &run->look, since, &run->charge);
	run->address_share = run->look.address_share;
}

/* A waiting job shows nothing, and must not use up the early measurements. */
static void look_begin(struct watch_run *run, uint64_t now)
{
	uint64_t runs[EV_NR], since[EV_NR];
	bool busy = runs_since(run, runs, since) >= BUSY_RUNS;

	run->look_ns = now + LOOK_TRY_NS;
	memcpy(run->look_runs, runs, sizeof(runs));
	if (!busy || calibrate_look(run->set, &run->look))
		return;
	run->looking = true;
	run->look_since_ns = now;
	run->look_ns = now + LOOK_NS;
}

static void look_end(struct watch_run *run, uint64_t now)
{
	uint64_t runs[EV_NR], since[EV_NR];

	if (now - run->look_since_ns < LOOK_MAX_NS && runs_since(run, runs, since) < ENOUGH_RUNS) {
		run->look_ns = run->look_since_ns + LOOK_MAX_NS;
		return;
	}
	watch_looks_end(run);
	run->look_pause_ns = run->look_pause_ns ? run->look_pause_ns * 3 / 2 : LOOK_PAUSE_NS;
	if (run->look_pause_ns > LOOK_PAUSE_MAX_NS)
		run->look_pause_ns = LOOK_PAUSE_MAX_NS;
	run->look_ns = now + run->look_pause_ns;
}

void watch_run_look(struct watch_run *run)
{
	uint64_t now = clock_now_ns();

	if (now < run->look_ns)
		return;
	if (run->looking)
		look_end(run, now);
	else
		look_begin(run, now);
}

uint64_t watch_run_look_due(const struct watch_run *run)
{
	return run->look_ns;
}
