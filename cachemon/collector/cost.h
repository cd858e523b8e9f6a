/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a run, whether it stays within its budget, which detail it drops to stay there, and
 * how often the per-read hook may be on. Pure: counts and calibrated times in; nanoseconds, a share
 * or a step out. Owns the arithmetic of the budget, the price of each run, and the order of
 * shedding.
 */
#ifndef COST_H
#define COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/cachemon.h"

/* Time that one run of a program adds to its task; < 0: unknown. */
struct calibration {
	double ns[EV_NR];
	double around; /* the part that the kernel's statistics miss; may be < 0 */
};

/* CPU time of that many program runs; < 0: unknown, if any of them has an unknown time. A guess
 * would be taken for a measurement. */
double cost_probe_ns(const struct calibration *cal, const uint64_t runs[EV_NR]);

/*
 * The cost of the probes for a job so far. A run's cost depends on the job, so measurements during
 * the run give the price; before the first one, the calibration does. Runs between two measurements
 * have the mean of both prices, so that the cost follows changes of the price (files that are no
 * longer traced, another phase) in both directions.
 */

/* The price at a measurement is the median of it and its neighbours: a disturbance (an
 * interrupt, a hypervisor) only adds, and seldom affects two of them. At the newest measurement
 * it is the lower of the last two. */
#define COST_LOOKS 3

struct cost_charge {
	struct calibration price;	 /* at the newest measurement */
	double before[EV_NR];		 /* at the second-newest measurement */
	double looks[EV_NR][COST_LOOKS]; /* the measured prices, the newest first */
	uint64_t nr_looks[EV_NR];
	uint64_t runs[EV_NR];	  /* total: settled, between and open */
	uint64_t between[EV_NR];  /* between the two newest measurements; if there are only two, all
				   * runs before the newest */
	uint64_t open[EV_NR];	  /* since the newest measurement */
	double settled_ns[EV_NR]; /* cost of the settled runs: all others */
};

/* runs: those of the job before the counted time. */
void cost_charge_begin(struct cost_charge *c, const struct calibration *calibration,
		       const uint64_t runs[EV_NR]);
/* The job's runs since the programs were loaded. */
void cost_charge_runs(struct cost_charge *c, const uint64_t runs[EV_NR]);
/* A measurement found this price for an event whose price is known. */
void cost_charge_look(struct cost_charge *c, enum event ev, double ns);

/* CPU time of the job's tasks in one kind of program; < 0: unknown, if it ran without a known
 * price. A measurement may lower it. */
double cost_charge_ns(const struct cost_charge *c, enum event ev);

/* A measured price; < 0: unknown. */
struct cost_seen {
	double job_cpu_ns;
	double own_ns;	      /* collector and probes in the job, without the per-read hook */
	double read_ns;	      /* the per-read hook in the job */
	double read_on_share; /* share of the time with the hook on; > 0 if read_ns is */
};

/* The total cost minus the budget (a share of the job's CPU time); <= 0: within budget. An
 * unknown cost exceeds nothing. */
double cost_excess_ns(const struct cost_seen *seen, double budget);

/*
 * Whether the per-read hook breaks the budget: always on, it would exceed it, and without it the
 * cost would be within the budget or half of the excess would vanish. If something else costs,
 * slices would only turn exact figures into estimates.
 */
bool cost_slicing_helps(const struct cost_seen *seen, double budget);

/* The share of time that the per-read hook may be on so that the total cost stays within budget (a
 * share of the job's CPU time). 1: always, also while the cost is unknown, because figures become
 * estimates only for a reason. At least COST_DUTY_MIN, because an estimate needs slices. */
#define COST_DUTY_MIN 0.05
double cost_duty(const struct cost_seen *seen, double budget);

/* A row of a file or a process in an interval takes this time of the collector, on the test machine
 * (docs/cost.md). */
#define COST_ROW_NS 10000

/* The order in which a run drops data: detail has an allowance, and the per-read hook is sliced
 * last. */

/* CPU time of the job between two checks of the per-read hook; a shorter time only shows noise. */
#define BUDGET_WINDOW_NS 50000000.0
/* The job's start, when cachemon reads the names of its libraries, does not predict the rest. So
 * this many windows are not judged. */
#define BUDGET_SETTLE 2
/* The allowance for detail before the job has used any CPU time, and its share of the budget. */
#define BUDGET_PURSE_NS	    1000000.0
#define BUDGET_DETAIL_SHARE 0.25

struct budget {
	double share;	       /* the budget, as a share of the job's CPU time */
	struct cost_seen mark; /* start of the window */
	unsigned int windows;
	double paid_cpu_ns; /* CPU time of the job when the allowance was last raised */
	double detail_ns;   /* total allowance of detail until now */
};

void budget_begin(struct budget *b, double share);

/*
 * Raises the allowance of detail by its share of the budget of the CPU time that the job has used
 * since, unless the total cost exceeds the budget. Returns the total allowance.
 */
double budget_detail_ns(struct budget *b, const struct cost_seen *now);

/*
 * Whether to slice the per-read hook now: both the total cost and the last window's exceed the
 * budget, and slices help in both. now: since the start of the run.
 */
bool budget_slices(struct budget *b, const struct cost_seen *now);

#endif
