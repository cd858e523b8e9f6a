/* SPDX-License-Identifier: BSD-2-Clause */
/* When the programs are timed while the job runs: for a moment, now and then. */
#include <string.h>

#include "cachemon/watch/watch_run.h"
#include "cachemon/base/clock.h"

/* How long the programs are timed, longer where little runs, and how seldom in the end: their clock
 * costs as much as a small program. At first it is often, for the job is not known. */
#define LOOK_NS		  10000000ULL
#define LOOK_MAX_NS	  50000000ULL
#define LOOK_PAUSE_NS	  20000000ULL
#define LOOK_PAUSE_MAX_NS 2000000000ULL
/* How often a job is asked whether it works. */
#define LOOK_TRY_NS 50000000ULL
/* Program runs in the job without which a look would show nothing, and which are enough for one. */
#define BUSY_RUNS   100
#define ENOUGH_RUNS 1000

/* Runs in the job now, and in all since the look began or was tried; 0: there is no telling. */
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

/* A job that waits shows nothing, and must not use up the looks of its beginning. */
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
