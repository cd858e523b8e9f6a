/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Begins and ends the jobs of a node as their cgroups come and go. Owns the discovery and its ring;
 * for the caller's loop it is one descriptor and one time.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "cachemon/daemon/node.h"
#include "cachemon/daemon/node_config.h"

struct follow;

/* A line for people: a job begins, or cannot be watched. */
typedef void follow_say(const char *text);

/* The node and the settings, until others are selected, outlive it. */
int follow_new(struct node *n, const struct node_config *config, follow_say *say,
	       struct follow **ret, struct errtext *err);
void follow_free(struct follow *f);
/* Other settings: begins and ends jobs accordingly. */
void follow_select(struct follow *f, const struct node_config *config);

/* Readable: call follow_work(). */
int follow_fd(const struct follow *f);
/* Returns when to call it at the latest (CLOCK_MONOTONIC). */
uint64_t follow_work(struct follow *f);

#endif
