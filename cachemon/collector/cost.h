/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run costs, whether it keeps its budget, and how often the per-read hook may be on. Pure:
 * counts and calibrated times in, nanoseconds and a share out. Owns the arithmetic of the overhead
 * budget.
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

/* What a time showed; < 0: unknown. */
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

#endif
