/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the probes have cost a job so far. What a run of a program costs depends on what the job
 * does, so looks at it while it runs give the price; the calibration's holds until the first one.
 * Runs between two looks are charged at the mean of both prices: a price that falls or rises (files
 * that are no longer traced, another phase) is followed from both sides.
 * Pure. Owns which price counts for which runs.
 */
#ifndef COST_CHARGE_H
#define COST_CHARGE_H

#include "cachemon/collector/cost.h"

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

#endif
