/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the daemon that measures: one set of programs, many jobs, one database with a run for
 * each job. Owns the jobs' ledgers and runs. Every job is counted at level full; references, traces
 * and evictors are not recorded (docs/design.md, "Many jobs"). Not thread-safe.
 */
#ifndef NODE_H
#define NODE_H

#include "cachemon/access/mountinfo.h"
#include "cachemon/base/errtext.h"
#include "cachemon/capture/birth_ring.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/daemon/node_metrics.h"
#include "cachemon/daemon/node_protocol.h"
#include "cachemon/job/selector.h"
#include "cachemon/store/retention.h"

struct node;

enum { NODE_JOBS_MAX = 255 };

struct node_options {
	const char *db;
	unsigned int jobs; /* at once; at most NODE_JOBS_MAX */
	bool births;	   /* node_births() will be called */
	bool trees;	   /* node_tree_begin() may be */
	uint64_t interval_ns;
	double budget;				  /* share of the CPU time of all jobs; 0: none */
	const struct retention_policy *retention; /* NULL: all runs are kept */
	struct node_metrics *metrics;		  /* NULL: not published */
	enum node_vfs vfs;			  /* if they are published */
	/* A job whose rows cannot be written is reported once; a constant until the next call. */
	void (*complain)(void *context, const char *job, const char *text);
	void *context;
};

struct node_job {
	uint32_t id;
	const struct selector *selector;
	int64_t run_id; /* 0: not in the database yet */
};

int node_new(const struct node_options *o, struct node **ret, struct errtext *err);
/* Ends the runs of all jobs. 0, or -errno: some rows were not written. NULL is fine. */
int node_free(struct node *n, struct errtext *err);
/* Another policy, unless all runs are kept. */
void node_retain(struct node *n, const struct retention_policy *policy);

/*
 * Takes the selector, which is a cgroup, even after a failure; cgroups: those of the job in all
 * hierarchies, the selector's among them, borrowed; mounts: those of now. -ENOSPC: there are as
 * many jobs as possible.
 */
int node_job_begin(struct node *n, struct selector *selector, const struct cgroup_ref *cgroups,
		   size_t nr, const struct mountinfo *mounts, uint32_t *ret_id,
		   struct errtext *err);
/*
 * The same for a command: a process and its later descendants, except in the cgroups of other jobs.
 * of_root: otherwise a process that gains privileges by its program leaves the job.
 */
int node_tree_begin(struct node *n, struct selector *selector, bool of_root,
		    const struct mountinfo *mounts, uint32_t *ret_id, struct errtext *err);
/* Whether users' commands can be counted: a process that gains privileges is noticed. */
bool node_trees_leave(const struct node *n);
/* The run of a command whose end was asked for: 0 until its last rows are written. */
int64_t node_tree_written(const struct node *n, uint32_t id);
/* It has just begun, and nothing of it is written. */
void node_tree_cancel(struct node *n, uint32_t id);
/* It ends with the next sample, which is taken within a second. */
void node_tree_end(struct node *n, uint32_t id);
/* Ends it, unless it has ended, and forgets it. */
void node_tree_forget(struct node *n, uint32_t id);
/* The job has these cgroups now; populated: some of them may have had processes before. Does
 * nothing after the job's end. */
int node_job_join(struct node *n, uint32_t id, const struct cgroup_ref *cgroups, size_t nr,
		  bool populated, struct errtext *err);
/* Whether another job can begin. */
bool node_has_room(const struct node *n);
/* Its run ends with the next sample. Does nothing after that. */
void node_job_end(struct node *n, uint32_t id);

/* Root announces a job, KIND:NAME, before its run has begun: user, name, partition. A job that
 * has no cgroup yet has ten minutes to appear. -EEXIST: the run has begun; -ENOSPC. */
int node_announce(struct node *n, const struct node_request *begin, struct errtext *err);
/* Ends the job KIND:NAME, and forgets its announcement; false: it is unknown. */
bool node_end_named(struct node *n, const char *job);
/* The next sample is soon, if that job is watched. */
void node_hurry(struct node *n, const char *job);
/* When to take the next sample at the latest (CLOCK_MONOTONIC), because root ended a job or waits
 * for its sums, or a command ended; UINT64_MAX: none of these. */
uint64_t node_due(const struct node *n);

/* Times the programs when that is due; returns when to call it again (CLOCK_MONOTONIC). */
uint64_t node_look(struct node *n);
/* The length of the next interval: longer while counting costs too much. */
uint64_t node_interval_ns(const struct node *n);
/* Changes the budget of a node that has one. */
void node_set_budget(struct node *n, double share);

/* Whether the cgroup by which the job was begun no longer exists; false for a job that was ended.
 */
bool node_job_gone(const struct node *n, uint32_t id);
/* Takes the names that wait, between samples. True: a sample is due now, because rows get full. */
bool node_pressed(struct node *n);

/* The ring of cgroups that come and go; the node outlives it. -ENOTSUP: the kernel's events cannot
 * be hooked. */
int node_births(struct node *n, birth_receive *receive, void *arg, struct birth_ring **ret);

/* A sample of all jobs, written in one transaction. 0, or -errno with a text: the sums are kept and
 * written with the next one. */
int node_sample(struct node *n, struct errtext *err);

/* Job i in the order of slots; false: there are no more. */
bool node_job(const struct node *n, size_t i, struct node_job *ret);
/* Whether rows of this run are still to be written. */
bool node_writes(const struct node *n, int64_t run_id);

#endif
