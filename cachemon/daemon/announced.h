/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Root announces jobs that have no cgroup yet: Slurm's prolog knows a job's user and name before
 * the job runs. Owns the bounded table; a job that does not appear is forgotten. Pure.
 */
#ifndef ANNOUNCED_H
#define ANNOUNCED_H

#include "cachemon/daemon/node_protocol.h"

enum { ANNOUNCED_MAX = 1024 };

#define ANNOUNCED_NS UINT64_C(600000000000) /* for how long it is kept */

struct announced;

/* NULL: no memory. */
struct announced *announced_new(void);
void announced_free(struct announced *a);

/* Adds to an announcement of the same job, and replaces the values that both have. -ENOSPC: too
 * many jobs. */
int announced_put(struct announced *a, const struct node_request *begin, uint64_t now_ns);
/* Removes it; false: it is not there. job: KIND:NAME. */
bool announced_take(struct announced *a, const char *job, uint64_t now_ns,
		    struct node_request *ret);

#endif
