/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of cgroups that are made and removed, and of processes that move into one, while many
 * jobs are watched. Owns layouts only. */
#ifndef CACHEMON_BIRTHS_H
#define CACHEMON_BIRTHS_H

#include "bpf/cachemon.h"

#define BIRTH_RING_BYTES (1 << 20) /* 1,900 records */

enum birth_event { BIRTH_MADE, BIRTH_REMOVED, BIRTH_ENTERED };

#define BIRTH_PATH_MAX 512 /* paths of jobs are shorter: pods have up to 300 bytes */
struct birth {
	__u64 id;	 /* kernfs id, unique in its hierarchy */
	__u32 hierarchy; /* the kernel's number, as in /proc/PID/cgroup; 0: v2 */
	__u16 event;
	__u16 level; /* depth below the root of its hierarchy */
	/* From the hierarchy's root. A path of BIRTH_PATH_MAX - 1 bytes may be cut. */
	char path[BIRTH_PATH_MAX];
};

#endif
