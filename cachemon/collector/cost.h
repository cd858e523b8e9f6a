/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a run, whether it keeps its budget, what it drops to keep it, and how often the
 * per-read hook may be on. Pure: counts and calibrated times in, nanoseconds, a share or a step
 * out. Owns the arithmetic of the overhead budget, which price counts for which runs, and the
 * order of shedding.
 */
#ifndef COST_H
#define COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/cachemon.h"

/* Time one run of a program adds to its task; < 0: not known. */
struct calibration {
	double ns[EV_NR];
	double around; /* part of it that the kernel's run-time statistics do not show; may be < 0
			*/
};

/* CPU time of so many program runs; < 0: unknown, as soon as one of them has no known time. A
 * guess for it would be taken for a measurement. */
double cost_probe_ns(const struct calibration *cal, const uint64_t runs[EV_NR]);

/*
 * The cost of the probes for a job so far. The cost of a program's run depends on what the job
 * does, so measurements while it runs give the price; until the first one, that of the calibration
 * counts. Runs between two measurements are charged at the mean of both prices, so a price that
 * falls or rises (files that are no longer traced, another phase) is followed from both sides.
 */

/* The price at a look is the median of it and its neighbours: a disturbance (an interrupt, a
 * hypervisor that takes the CPU) only adds, and seldom to two of them. At the newest one it is the
 * lower one of the last two. */
#define COST_LOOKS 3

struct cost_charge {
	struct calibration price;	 /* at the newest look */
	double before[EV_NR];		 /* at the one before it */
	double looks[EV_NR][COST_LOOKS]; /* as seen, the newest first */
	uint64_t nr_looks[EV_NR];
	uint64_t runs[EV_NR];	  /* in all; of these, */
	uint64_t between[EV_NR];  /* from that look to the newest; of the first two, all before */
	uint64_t open[EV_NR];	  /* since the newest */
	double settled_ns[EV_NR]; /* of the others */
};

/* runs: of the job so far, which cost it nothing that counts. */
void cost_charge_begin(struct cost_charge *c, const struct calibration *calibration,
		       const uint64_t runs[EV_NR]);
/* The job has had so many since the programs were loaded. */
void cost_charge_runs(struct cost_charge *c, const uint64_t runs[EV_NR]);
/* A look that has just ended saw this price, of an event whose price is known. */
void cost_charge_look(struct cost_charge *c, enum event ev, double ns);

/* CPU time of the job's tasks in one kind of program; < 0: unknown, as soon as it ran without a
 * known price. A look can make it less than it was. */
double cost_charge_ns(const struct cost_charge *c, enum event ev);

/* A measured price; < 0: unknown. */
struct cost_seen {
	double job_cpu_ns;
	double own_ns;	      /* collector and probes in the job, the per-read hook left out */
	double read_ns;	      /* the per-read hook in the job */
	double read_on_share; /* of the time; > 0 where read_ns is */
};

/* The whole cost less the budget (a share of the job's CPU time); <= 0: it is kept. An unknown cost
 * exceeds nothing. */
double cost_excess_ns(const struct cost_seen *seen, double budget);

/*
 * Whether the budget is not kept because of the per-read hook: on all the time it would exceed the
 * budget, and without it the cost would be within the budget, or half of the excess would go.
 * Where something else costs, slices would make estimates of exact figures for nothing.
 */
bool cost_slicing_helps(const struct cost_seen *seen, double budget);

/*
 * Share of time the per-read hook may be on so that all cost stays within budget (share of the
 * job's CPU time). 1: always; so too while the cost is not known, for an estimate must have a
 * reason. Never below COST_DUTY_MIN: without a look there is no estimate.
 */
#define COST_DUTY_MIN 0.05
double cost_duty(const struct cost_seen *seen, double budget);

/* When a run gives up what: detail has a purse, and the per-read hook is sliced last. */

/* CPU time of the job between two judgements of the per-read hook: less shows only noise. */
#define BUDGET_WINDOW_NS 50000000.0
/* The beginning of the job, in which cachemon reads the names of its libraries, does not predict
 * the rest. In windows. */
#define BUDGET_SETTLE 2
/* The allowance for detail before the job has used any CPU time, and its part of the budget. */
#define BUDGET_PURSE_NS	    1000000.0
#define BUDGET_DETAIL_SHARE 0.25

struct budget {
	double share;	       /* of the job's CPU time */
	struct cost_seen mark; /* when the window began */
	unsigned int windows;
	double paid_cpu_ns; /* of the job, as of when the purse was last filled */
	double detail_ns;   /* that detail may have cost until now */
};

void budget_begin(struct budget *b, double share);

/*
 * Fills the purse of detail: a part of the budget of the CPU time that the job has used since,
 * unless the whole cost exceeds the budget. Returns what detail may have cost in all.
 */
double budget_detail_ns(struct budget *b, const struct cost_seen *now);

/*
 * Whether to slice the per-read hook now: the total cost exceeds the budget, so does that of the
 * last window, and slices help in both. now: since the start of the run.
 */
bool budget_slices(struct budget *b, const struct cost_seen *now);

#endif
