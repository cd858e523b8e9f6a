/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live view of jobs that the daemon of a node counts: their rows come through its socket. Owns
 * how the view follows them.
 */
#ifndef TOP_NODE_H
#define TOP_NODE_H

#include "cachemon/daemon/node_feed.h"
#include "cachemon/top/top.h"

struct top_node {
	struct node_feed *feed;
	struct top_feed source;
	int64_t run_id; /* to begin with */
	char about[128];
};

/* job: KIND:NAME; NULL: those of the caller. As node_feed_new(). */
int top_node_begin(const char *socket, const char *job, struct top_node *ret, struct errtext *err);
void top_node_end(struct top_node *n);
/* Whether there are several jobs to choose from. */
bool top_node_many(const struct top_node *n);

#endif
