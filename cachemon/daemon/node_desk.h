/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's answers to the users of the node: the jobs that each may see, and their rows. Owns
 * the socket and what is said there; node_protocol.h decides who may see a job. For the caller's
 * loop it is one descriptor and one time.
 */
#ifndef NODE_DESK_H
#define NODE_DESK_H

#include "cachemon/daemon/node.h"
#include "cachemon/daemon/node_config.h"

struct node_desk;

/* The node and the texts outlive it. 0, or -errno with a text. */
int node_desk_new(struct node *n, const char *db, const struct node_config *config,
		  struct node_desk **ret, struct errtext *err);
void node_desk_free(struct node_desk *d);
/* The group of socket.admin_group sees all jobs. -ENOENT with a text: it does not
 * exist, and nothing changes. */
int node_desk_admit(struct node_desk *d, const struct node_config *config, struct errtext *err);

/* Readable: call node_desk_work(). */
int node_desk_fd(const struct node_desk *d);
/* Answers; returns when to call it at the latest (CLOCK_MONOTONIC). */
uint64_t node_desk_work(struct node_desk *d);

#endif
