/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a run sheds what: detail has a purse, and the per-read hook is sliced last. Pure: what was
 * spent goes in, a step comes out. Owns the order of shedding.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include "cachemon/collector/cost.h"

/* CPU time of the job between two judgements of the per-read hook: less shows only noise. */
#define BUDGET_WINDOW_NS 50000000.0
/* The job's beginning, in which cachemon reads the names of its libraries, is no sign of what
 * follows. In windows. */
#define BUDGET_SETTLE 2
/* What detail may cost before the job has used any CPU time, and its part of the budget. */
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
 * Whether the per-read hook is to be sliced from now on: the cost so far exceeds the budget and so
 * does that of the last window, and slices help in both. now: since the start of the run.
 */
bool budget_slices(struct budget *b, const struct cost_seen *now);

#endif
