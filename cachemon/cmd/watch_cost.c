/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run costs, and the slices that keep it within its budget. */
#include <string.h>
#include <sys/resource.h>

#include "cmd/watch_run.h"
#include "util/clock.h"

/* How long one round of slices takes at least and at most, and the least look in it. */
#define SLICE_PERIOD_NS	    1000000000.0
#define SLICE_PERIOD_MAX_NS 2000000000.0
#define SLICE_LOOK_NS	    50000000.0
/* Before that much was seen, the budget is not judged. */
#define JUDGE_CPU_NS 50000000.0

static uint64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

int watch_cost_begin(struct watch_run *run, struct errtext *err)
{
	int r = sampler_events(run->sampler, run->events0);

	if (r)
		return errtext_set(err, r, "cannot read the probes: %s", strerror(-r));
	cost_charge_begin(&run->charge, &run->calibration, run->events0[JOB_WATCHED]);
	memcpy(run->look_runs, run->events0[JOB_WATCHED], sizeof(run->look_runs));
	run->cpu0_ns = own_cpu_ns();
	return 0;
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
	};
	run->job_cpu_ns = job_cpu;
	run->own_ns = run->own_share = -1;
	if (sampler_events(run->sampler, runs))
		return;
	cost_charge_runs(&run->charge, runs[JOB_WATCHED]);
	for (int ev = 0; ev < EV_NR; ev++)
		runs[JOB_OTHERS][ev] -= run->events0[JOB_OTHERS][ev];
	others = cost_probe_ns(&run->calibration, runs[JOB_OTHERS]);
	probes = cost_charge_probe_ns(&run->charge);
	if (probes < 0)
		return;
	if (others >= 0) {
		s->cost.probe_cpu_ns = (int64_t)(probes + others);
		s->cost.cpu_ns = s->cost.probe_cpu_ns + (int64_t)s->cost.collector_cpu_ns;
	}
	if (job_cpu > 0)
		s->cost.share_of_job_cpu = probes / job_cpu;
	run->own_ns = probes + (double)s->cost.collector_cpu_ns - cost_charge_read_ns(&run->charge);
	run->own_share = s->cost.share_of_job_cpu;
}

/* How long the per-read hook has been on, whether a sample had use of it or not. */
static double hook_on_ns(const struct watch_run *run)
{
	uint64_t ns = run->hook_on_ns;

	if (probe_set_reads_on(run->set))
		ns += clock_now_ns() - run->hook_since_ns;
	return (double)ns;
}

void watch_cost_judge(struct watch_run *run)
{
	struct cost_seen seen = {
		.job_cpu_ns = run->job_cpu_ns,
		.own_ns = run->own_ns,
		.read_ns = cost_charge_read_ns(&run->charge),
		.read_on_share = run->elapsed_ns ? hook_on_ns(run) / (double)run->elapsed_ns : 0,
	};

	if (run->o->level != LEVEL_AUTO || run->job_cpu_ns < JUDGE_CPU_NS)
		return;
	run->duty = cost_duty(&seen, run->o->max_overhead);
	if (run->duty < 1 && !run->sliced) {
		run->sliced = true;
		run->slice_ns = clock_now_ns();
	}
}

uint64_t watch_run_slice_due(const struct watch_run *run)
{
	return run->sliced ? run->slice_ns : 0;
}

/* The hook is on for a share of duty of the period, seams included; a longer period makes room for
 * a look worth having. */
static double look_ns(const struct watch_run *run)
{
	double look = SLICE_PERIOD_NS * run->duty - (double)run->seam_ns;

	return look > SLICE_LOOK_NS ? look : SLICE_LOOK_NS;
}

static double off_ns(const struct watch_run *run)
{
	double on = look_ns(run) + (double)run->seam_ns, period = on / run->duty;

	if (period < SLICE_PERIOD_NS)
		period = SLICE_PERIOD_NS;
	if (period > SLICE_PERIOD_MAX_NS)
		period = SLICE_PERIOD_MAX_NS;
	return period > on ? period - on : 0;
}

/* The time it was on counts, whatever of switching it off has failed. */
static int switch_off(struct watch_run *run, uint64_t start)
{
	int r = probe_set_reads(run->set, false);
	uint64_t now = clock_now_ns();

	run->slice_ns = now + (uint64_t)SLICE_PERIOD_NS;
	if (!probe_set_reads_on(run->set)) {
		run->seam_ns += now - start;
		run->hook_on_ns += now - run->hook_since_ns;
	}
	if (!r)
		run->slice_ns = now + (uint64_t)off_ns(run);
	return r;
}

static int switch_on(struct watch_run *run, uint64_t start)
{
	int r = probe_set_reads(run->set, true);
	uint64_t now;

	if (r) {
		run->slice_ns = clock_now_ns() + (uint64_t)SLICE_PERIOD_NS;
		return r;
	}
	run->hook_since_ns = start;
	watch_run_sample(run, false);
	now = clock_now_ns();
	run->seam_ns = now - start;
	run->slice_ns = now + (uint64_t)look_ns(run);
	return 0;
}

/*
 * The hook goes on before the sample that ends the off slice: at their next read the running
 * tasks say what they read meanwhile. Without the hook a task that keeps its CPU would say it in
 * the next slice.
 */
void watch_run_slice(struct watch_run *run)
{
	bool on = probe_set_reads_on(run->set);
	uint64_t start = clock_now_ns();
	struct errtext text;
	int r;

	if (on && run->duty >= 1) {
		run->slice_ns = start + (uint64_t)SLICE_PERIOD_NS;
		return;
	}
	if (on) {
		watch_run_sample(run, false);
		sampler_references_end(run->sampler,
				       "reads were watched in slices from here on, to stay within "
				       "--max-overhead");
	}
	r = on ? switch_off(run, start) : switch_on(run, start);
	if (r && !run->hook_failed) {
		errtext_set(&text, r, "the per-read hook cannot be switched %s: %s",
			    on ? "off" : "on", strerror(-r));
		watch_say(text.text);
	}
	run->hook_failed = r;
}
