/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The detail that a node's daemon gives up while counting costs more than its budget, a share of
 * the CPU time of all watched jobs. Pure: sums of costs in, the detail to give up out. Owns the
 * order, and when there is room to record it again. No count is detail.
 */
#ifndef NODE_BUDGET_H
#define NODE_BUDGET_H

#include <stdbool.h>

/* Given up in this order. */
enum node_detail {
	NODE_DETAIL_VFS,	  /* metrics of calls of files and directories */
	NODE_DETAIL_PROCESS_ROWS, /* rows of processes and files in each interval */
	NODE_DETAIL_FILE_ROWS,
	NODE_DETAIL_INTERVALS, /* their usual length */
	NODE_DETAILS
};

/* Sums since the daemon's start. */
struct node_cost {
	double time_ns, jobs_cpu_ns;
	double cost_ns;			/* of all programs and the daemon */
	double detail_ns[NODE_DETAILS]; /* the part of it that each detail would save */
};

struct node_budget {
	double share; /* the most that counting may cost */
	struct node_cost mark, window;
	double cost; /* share in the window; < 0: none has ended */
	bool shed[NODE_DETAILS];
	double of_cpu[NODE_DETAILS], of_time[NODE_DETAILS]; /* cost when it was given up */
};

/* CPU time of the jobs after which a window ends; a shorter time only shows noise. */
#define NODE_BUDGET_WINDOW_NS 1e9
/* Detail returns if the cost stays below this part of the budget with it. */
#define NODE_BUDGET_ROOM 0.75

void node_budget_begin(struct node_budget *b, double share);
/* Whether a window has ended. Then b->shed is new. */
bool node_budget_judge(struct node_budget *b, const struct node_cost *now);
/* Sets another budget: b->shed is new. */
void node_budget_change(struct node_budget *b, double share);

#endif
