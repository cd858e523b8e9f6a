/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of many jobs have series of their own, and the sums of these. Owns the sums over all runs
 * of a job, and those of the jobs without series: jobid "_other". A job has series while it has one
 * of the places: the increments of its counts then go to its own series, otherwise to
 * "_other". So every increment is in exactly one series, and no series falls. Pure: the time is a
 * parameter.
 */
#ifndef METRICS_JOBS_H
#define METRICS_JOBS_H

#include "cachemon/metrics/metrics.h"

enum {
	METRICS_PLACES = 21,
	METRICS_PLACES_VFS = 16, /* if calls of files and directories are counted */
	METRICS_MOUNTS = 2,	 /* of a job; the others count with mount "" */
};

/* How long the series of a job that ended stay; how long a job keeps its place at least, and its
 * series after its place was given away, so that a scraper sees all that they count. */
#define METRICS_ENDED_NS UINT64_C(300000000000)
#define METRICS_HOLD_NS	 UINT64_C(300000000000)
#define METRICS_LEAVE_NS UINT64_C(60000000000)

struct metrics_jobs;

/* places: METRICS_PLACES or METRICS_PLACES_VFS, so that a node has at most 2,000 series. */
struct metrics_jobs *metrics_jobs_new(size_t places);
void metrics_jobs_free(struct metrics_jobs *m);

/*
 * sums: of one run of a job since the run began; .past and .running are ignored. run: its number,
 * of which each run of the job has another. last: nothing follows. Runs with the same manager and
 * jobid are one job. -ENOMEM: nothing has changed, and the next call makes up for it.
 */
int metrics_jobs_take(struct metrics_jobs *m, const struct metrics_job *sums, uint64_t run,
		      bool last, uint64_t now_ns);

/* The jobs with series, to be written; borrowed until the next call. */
void metrics_jobs_view(struct metrics_jobs *m, uint64_t now_ns, const struct metrics_job **ret,
		       size_t *ret_nr);

#endif
