/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the daemon by hooks of a workload manager, about one job. Jobs wait for a hook, so
 * all its requests together have a limited time.
 */
#ifndef NODE_HOOK_H
#define NODE_HOOK_H

#include "cachemon/daemon/node_client.h"
#include "cachemon/daemon/node_totals.h"

enum { NODE_HOOK_WAIT_MS = 1000 };

struct node_hook {
	const char *socket;
	struct node_request request; /* of the job; of its beginning: what is known of it */
	uint64_t until_ns;	     /* CLOCK_MONOTONIC */
};

/* The time begins now. 0 or -ENAMETOOLONG. */
int node_hook_init(struct node_hook *h, const char *socket, const char *job, unsigned int wait_ms);
/* As node_client_ask(), without a descriptor. ret NULL: only whether it agrees. */
int node_hook_ask(struct node_hook *h, enum node_verb verb, struct node_reply *ret,
		  struct errtext *err);
/* Whether the daemon itself refused: for example, the job is not watched. */
bool node_hook_refused(int e);
/*
 * verb: NODE_END or NODE_SAMPLE. Waits for the sample that this causes. *ret_all: the figures have
 * everything until the call; otherwise they are older. 0, or -errno with a text: no figures.
 */
int node_hook_totals(struct node_hook *h, enum node_verb verb, struct node_totals *ret,
		     bool *ret_all, struct errtext *err);

#endif
