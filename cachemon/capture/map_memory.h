/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The number of entries of the BPF maps on a machine, the kernel memory that they take, and whether
 * it fits: into RLIMIT_MEMLOCK if that limits maps, else into the memory cgroups of this process.
 * Owns the sizing rule (capture creates the maps by it, doctor predicts their memory) and the check
 * before anything is created, with its figures. Without the check, hitting a limit in the middle of
 * a run could end the job instead of cachemon.
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
	uint64_t bytes_each; /* key, value and the kernel's overhead of a preallocated element */
	uint64_t bytes;
};

enum { MAP_SIZES_MAX = 32 }; /* more than exist */

/*
 * Describes the maps for a machine with that memory (in pages of that size) and number of possible
 * CPUs; at most max of them. Returns their number.
 */
size_t map_sizes(uint64_t ram_bytes, uint64_t page_size, unsigned int nr_cpus, struct map_size *out,
		 size_t max);

/* Maps and programs, for a machine of that size; block_entries and row_entries as in struct
 * probe_set_config. */
uint64_t map_memory_bytes(uint64_t ram_bytes, unsigned int nr_cpus, uint64_t block_entries,
			  uint64_t row_entries);

/* The additional memory of many jobs; slots: of jobs and others. */
uint64_t map_memory_slots(unsigned int slots, unsigned int nr_cpus);

/* -ENOMEM: the cgroup is too small, -EPERM: the limit of locked memory is; err explains it.
 * for_run: raises a limit of locked memory if possible. */
int map_memory_check(uint64_t bytes, bool memlock_binds, bool for_run, struct errtext *err);

/* The memory that the cgroups of this process leave for the maps, which are charged to them. */
struct memory_room {
	uint64_t limit_bytes;  /* limit of the tightest one; UINT64_MAX: no limit */
	uint64_t bytes;	       /* its free memory: page cache counts as free, other use does not */
	char cgroup[PATH_MAX]; /* directory of the cgroup */
};

/* /proc/self/cgroup below proc_root names the cgroup. An unreadable limit is ignored. */
void memory_room_read(const char *proc_root, const struct mountinfo *mounts,
		      struct memory_room *ret);

#endif
