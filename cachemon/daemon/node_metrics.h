/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The figures of a node's jobs for Prometheus: collects them from the samples, and publishes them
 * in a file and by HTTP, as the settings say. Owns both texts; metrics_jobs.h decides which jobs
 * are in them.
 */
#ifndef NODE_METRICS_H
#define NODE_METRICS_H

#include "cachemon/account/ledger.h"
#include "cachemon/base/errtext.h"
#include "cachemon/collector/node_budget.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/job/selector.h"
#include "cachemon/metrics/metrics.h"
#include "cachemon/plan/probe_plan.h"

struct node_metrics;

/* The cost of counting; < 0: unknown, or there is no budget. */
struct node_shares {
	int64_t probes_ns;
	double budget, cost; /* of the CPU time of all jobs; the cost in the last seconds */
	struct metrics_detail details[NODE_DETAILS]; /* .name NULL: there is no budget */
	bool no_vfs;
};

/* A line for people. */
typedef void node_metrics_say(const char *text);

/* Call it before the programs are loaded, because it starts a process. The settings outlive it.
 * vfs: calls of files and directories are counted. *ret NULL: the settings ask for nothing, and all
 * functions do nothing. */
int node_metrics_new(const struct node_config *config, bool vfs, node_metrics_say *say,
		     struct node_metrics **ret, struct errtext *err);
void node_metrics_free(struct node_metrics *m);

/* The sums of a run after a sample. run: its number; last: it has ended. */
void node_metrics_take(struct node_metrics *m, const struct probe_plan *plan, uint32_t run,
		       const struct selector *job, const struct ledger *ledger,
		       const struct sample *sample, bool last);
/* After a sample of all jobs; nr_jobs: watched now. Errors are said once. */
void node_metrics_publish(struct node_metrics *m, const struct probe_plan *plan, size_t nr_jobs,
			  const struct node_shares *shares);

#endif
