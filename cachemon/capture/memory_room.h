/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory the cgroups that this process runs in leave for the maps, which are charged to
 * them. Owns the reading of limits of both hierarchies; what follows is for the caller.
 */
#ifndef MEMORY_ROOM_H
#define MEMORY_ROOM_H

#include <limits.h>
#include <stdint.h>

#include "cachemon/access/mountinfo.h"

struct memory_room {
	uint64_t
		limit_bytes; /* of the cgroup that leaves the least; UINT64_MAX: none has a limit */
	uint64_t bytes;	     /* what it leaves: page cache yields, the rest that is used does not */
	char cgroup[PATH_MAX]; /* its directory */
};

/* /proc/self/cgroup below proc_root says which. What cannot be read sets no limit. */
void memory_room_read(const char *proc_root, const struct mountinfo *mounts,
		      struct memory_room *ret);

#endif
