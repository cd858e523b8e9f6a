/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the probes have cost a job so far. What a run of a program costs depends on what the job
 * does, so looks at it while it runs give the price; the calibration's holds until the first one.
 * Pure. Owns which price counts for which runs.
 */
#ifndef COST_CHARGE_H
#define COST_CHARGE_H

#include "capture/cost.h"

/* A price is the median of as many looks: a disturbance (an interrupt, a hypervisor that takes the
 * CPU) only adds, and seldom to two of them. Of two it is the lower one. */
#define COST_LOOKS 3

struct cost_charge {
	struct calibration price; /* as of the last look */
	double looks[EV_NR][COST_LOOKS];
	uint64_t nr_looks[EV_NR];
	uint64_t runs[EV_NR];	  /* charged */
	uint64_t open[EV_NR];	  /* of these, charged at the price that so many looks will show */
	double settled_ns[EV_NR]; /* of the others; < 0: unknown */
};

/* runs: of the job so far, which cost it nothing that counts. */
void cost_charge_begin(struct cost_charge *c, const struct calibration *calibration,
		       const uint64_t runs[EV_NR]);
/* The job has had so many since the programs were loaded. */
void cost_charge_runs(struct cost_charge *c, const uint64_t runs[EV_NR]);
/* A look saw this price, of an event whose price is known. */
void cost_charge_look(struct cost_charge *c, enum event ev, double ns);

/* CPU time of the job's tasks; < 0: unknown, as soon as a program ran whose price is not known. */
double cost_charge_probe_ns(const struct cost_charge *c);
/* Of that, the per-read hook's. */
double cost_charge_read_ns(const struct cost_charge *c);

#endif
