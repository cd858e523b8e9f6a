/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many entries the BPF maps get on a machine, what kernel memory that takes, and whether it
 * fits: into RLIMIT_MEMLOCK where that binds the maps, else into the memory cgroups of this
 * process. Owns the sizing rule (capture makes the maps by it, doctor predicts their memory from
 * it) and the judgement before anything is made, with the figures; a limit that is hit in the
 * middle of a run would end the job instead of cachemon.
 */
#ifndef MAP_MEMORY_H
#define MAP_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/base/errtext.h"

struct map_size {
	const char *name;
	uint64_t entries;
	uint64_t bytes_each; /* key, value and what the kernel adds to a preallocated element */
	uint64_t bytes;
};

enum { MAP_SIZES_MAX = 32 }; /* more than there are */

/*
 * Describes the maps for a machine with that much memory, in pages of that size, and that many
 * possible CPUs, at most max of them. Returns how many there are.
 */
size_t map_sizes(uint64_t ram_bytes, uint64_t page_size, unsigned int nr_cpus, struct map_size *out,
		 size_t max);

/* Maps and programs, for a machine of that size; block_entries and row_entries as those of struct
 * probe_set_config. */
uint64_t map_memory_bytes(uint64_t ram_bytes, unsigned int nr_cpus, uint64_t block_entries,
			  uint64_t row_entries);

/* -ENOMEM: the cgroup is too small, -EPERM: the limit of locked memory; err says so. For_run: a
 * limit of locked memory that can be raised is raised. */
int map_memory_check(uint64_t bytes, bool memlock_binds, bool for_run, struct errtext *err);

/* How much memory the cgroups that this process runs in leave for the maps, which are charged to
 * them. */
struct memory_room {
	uint64_t limit_bytes;  /* of the one that leaves the least; UINT64_MAX: none has a limit */
	uint64_t bytes;	       /* what it leaves: page cache yields, other use does not */
	char cgroup[PATH_MAX]; /* its directory */
};

/* /proc/self/cgroup below proc_root names the cgroup. A limit that cannot be read does not
 * count. */
void memory_room_read(const char *proc_root, const struct mountinfo *mounts,
		      struct memory_room *ret);

#endif
