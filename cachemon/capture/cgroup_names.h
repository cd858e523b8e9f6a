/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of cgroups by the ids that programs see. Owns the reverse lookup: it walks the
 * directories of the hierarchy when an id is new, at most once per interval. A cgroup that no
 * longer exists by then stays without a name.
 */
#ifndef CGROUP_NAMES_H
#define CGROUP_NAMES_H

#include <stdint.h>

struct cgroup_names;

/* top: mount point of the hierarchy; NULL: not mounted, and no cgroup has a name. */
int cgroup_names_new(const char *top, struct cgroup_names **ret);
/* In the hierarchy that limits memory: v1 if it has that controller. */
int cgroup_names_of_memory(const char *mountinfo, struct cgroup_names **ret);
void cgroup_names_free(struct cgroup_names *n);

/* A new interval: unknown ids may be searched again. */
void cgroup_names_again(struct cgroup_names *n);
/* Its path relative to top, "/" for top itself; NULL: unknown. Valid until freed. */
const char *cgroup_names_get(struct cgroup_names *n, uint64_t id);

#endif
