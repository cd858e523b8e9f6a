/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of cgroups by the ids that programs see. Owns the way back: the directories of the
 * hierarchy are looked through when an id is new, once an interval at most. A cgroup that is gone
 * by then stays without a name.
 */
#ifndef CGROUP_NAMES_H
#define CGROUP_NAMES_H

#include <stdint.h>

struct cgroup_names;

/* top: where the hierarchy is mounted; NULL: nowhere, and nothing has a name. */
int cgroup_names_new(const char *top, struct cgroup_names **ret);
/* In the hierarchy that limits memory: v1 where it has that controller. */
int cgroup_names_of_memory(const char *mountinfo, struct cgroup_names **ret);
void cgroup_names_free(struct cgroup_names *n);

/* A new interval: ids without a name may be looked for again. */
void cgroup_names_again(struct cgroup_names *n);
/* Its path relative to top, "/" for top itself; NULL: unknown. Valid until freed. */
const char *cgroup_names_get(struct cgroup_names *n, uint64_t id);

#endif
