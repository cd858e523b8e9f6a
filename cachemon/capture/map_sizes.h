/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many entries the BPF maps get on a machine and what kernel memory that takes. Owns the
 * sizing rule: capture creates the maps by it, doctor predicts their memory from it.
 */
#ifndef MAP_SIZES_H
#define MAP_SIZES_H

#include <stddef.h>
#include <stdint.h>

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

#endif
