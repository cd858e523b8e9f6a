/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A user's live copy of the rows of jobs: a database in memory, to which the newest rows are added
 * as the daemon writes them. Owns when the daemon is asked: at most once a second when all jobs
 * were received, whatever their number, so that several views of a user stay within its limits.
 */
#ifndef NODE_FEED_H
#define NODE_FEED_H

#include <sqlite3.h>

#include "cachemon/daemon/node_client.h"

enum { NODE_FEED_JOBS = 16 };

struct node_feed;

/* job: KIND:NAME; NULL: jobs of the caller that run, the newest NODE_FEED_JOBS of them. 0, or as
 * node_client_ask(), with the rows of one job at least; -ENODATA: no job runs. */
int node_feed_new(const char *socket, const char *job, struct node_feed **ret, struct errtext *err);
void node_feed_free(struct node_feed *f);

/* Asks if it is time. A notice about the source of this run's rows; NULL: none. */
const char *node_feed_work(struct node_feed *f, int64_t run_id);
/* Another one after node_feed_work() if the daemon was away, or if it became too large. */
sqlite3 *node_feed_db(const struct node_feed *f);
/* The newest run of the job that has this run; run_id itself if the job is unknown. */
int64_t node_feed_newest(const struct node_feed *f, int64_t run_id);
/* How many jobs are followed, and how many others run. */
size_t node_feed_jobs(const struct node_feed *f, size_t *ret_others);

#endif
