/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run costs, and by what. */
#include <string.h>
#include <sys/resource.h>

#include "cachemon/watch/watch_run.h"

static const enum cost_part parts[EV_NR] = {
	[EV_READ] = COST_READS,	     [EV_ADD] = COST_PAGES,	    [EV_DELETE] = COST_PAGES,
	[EV_WINDOW] = COST_WINDOWS,  [EV_FAULT] = COST_FAULTS,	    [EV_MAP] = COST_FAULTS,
	[EV_SWITCH] = COST_SWITCHES, [EV_FORK_EXIT] = COST_OTHER,   [EV_DIRECT] = COST_OTHER,
	[EV_URING] = COST_OTHER,     [EV_ADVICE_CALL] = COST_OTHER, [EV_SCOPE] = COST_OTHER,
};

static uint64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

int watch_cost_begin(struct watch_run *run, struct errtext *err)
{
	int r = probe_set_events(run->set, run->events0);

	if (r)
		return errtext_set(err, r, "cannot read the probes: %s", strerror(-r));
	cost_charge_begin(&run->charge, &run->calibration, run->events0[JOB_WATCHED]);
	memcpy(run->look_runs, run->events0[JOB_WATCHED], sizeof(run->look_runs));
	run->cpu0_ns = own_cpu_ns();
	return 0;
}

/* Of the job's tasks, by program; < 0: not known. What runs on page faults of anybody counts too.
 */
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

/*
 * What the run cost so far. cpu_ns is all of it, in whatever task a probe ran; the share of the
 * job's CPU time is what probes ran for in its own tasks. An A/B of their CPU time shows that, and
 * what the probes push out of the CPU's caches.
 */
void watch_cost_take(struct watch_run *run, struct sample *s)
{
	uint64_t runs[JOB_NR][EV_NR];
	double probes, others, job_cpu = (double)s->jobs[JOB_WATCHED].cpu_ns;

	s->cost = (struct sample_cost){
		.cpu_ns = -1,
		.probe_cpu_ns = -1,
		.collector_cpu_ns = own_cpu_ns() - run->cpu0_ns,
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
		s->cost.cpu_ns = s->cost.probe_cpu_ns + (int64_t)s->cost.collector_cpu_ns;
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
		ret->own_ns = probes - ret->read_ns + (double)(own_cpu_ns() - run->cpu0_ns);
	return 0;
}
