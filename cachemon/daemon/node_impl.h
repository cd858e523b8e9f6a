/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of node.h. Owns the node's types: node.c has the jobs, which begin, end and
 * have names; node_runs.c has their rows in the database.
 */
#ifndef NODE_IMPL_H
#define NODE_IMPL_H

#include "cachemon/account/ledger.h"
#include "cachemon/capture/sampler_slots.h"
#include "cachemon/collector/calibrate.h"
#include "cachemon/collector/machine_facts.h"
#include "cachemon/collector/node_budget.h"
#include "cachemon/daemon/announced.h"
#include "cachemon/daemon/node.h"
#include "cachemon/plan/machine_plan.h"
#include "cachemon/store/store.h"

struct job {
	struct selector selector; /* .text NULL: the slot has no job */
	uint32_t id;
	bool limits_memory;
	struct ledger *ledger;
	struct store *store;
	struct machine_facts *machine; /* NULL: there was no memory for it */
	uint64_t started_ns;	       /* CLOCK_REALTIME, the moment of start_ns */
	uint64_t start_ns, last_ns;    /* CLOCK_MONOTONIC */
	bool begun, last;
	bool written;  /* its end, if the batch succeeds */
	bool finished; /* the batch did */
	bool complained;
	bool cancelled; /* nothing of it is written */
	bool awaited;	/* kept after its end, until node_tree_forget() */
	struct sample_shed shed[NODE_DETAILS];
	size_t nr_shed;
};

/* The cost of counting. */
struct node_costs {
	struct node_budget budget;
	struct node_cost now;
	uint64_t start_ns, cpu0_ns;
	double own_ns;		   /* of this process, at the latest sample */
	struct cost_charge charge; /* of the programs, in all tasks */
	struct calibration_look look;
	bool looking, untimed; /* untimed: not permitted */
	uint64_t look_ns, pause_ns, look_runs[EV_NR];
	bool said;
};

/* Ended jobs whose rows could not be written yet: a disk may be full for a while. */
enum { ENDING_MAX = 1024 };

struct node {
	struct node_options o;
	struct kernel_caps caps;
	struct probe_plan plan;
	struct probe_set *set;
	struct sampler *sampler;
	struct store *anchor;	     /* keeps the database open while no job runs */
	struct retention *retention; /* NULL: all runs are kept */
	struct retention_clock ages;
	struct job *jobs; /* by slot; the first is unused */
	struct job *ending;
	size_t nr_ending, max_ending;
	struct announced *announced;
	uint32_t begun; /* jobs so far */
	uint64_t sampled_ns;
	uint64_t hurry_ns; /* somebody waits for a sample; 0: nobody does */
	struct node_costs costs;
};

/* node.c */
void node_job_free(struct job *j);

/* node_runs.c: a sample of all jobs, written in one transaction; last: all of them end with it. As
 * node_sample(). */
int runs_sample(struct node *n, bool last, struct errtext *err);
/* The metrics; nr: jobs that are watched. */
void runs_publish(struct node *n, size_t nr);

/* node_cost.c: all do nothing without a budget. */
void node_cost_begin(struct node *n);
void node_cost_end(struct node *n);
/* A job begins: what it will not have. */
void node_cost_job(const struct node *n, struct job *j);
/* A sample of a job, after ledger_apply(): leaves out what was given up. */
void node_cost_take(struct node *n, struct job *j, struct sample *s);
/* After the samples of all jobs. */
void node_cost_judge(struct node *n);
void node_cost_show(const struct node *n, struct node_shares *ret);

#endif
