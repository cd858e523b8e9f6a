/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries on a block, for programs that user space runs over whole maps. */
#ifndef SWEEP_BPF_H
#define SWEEP_BPF_H

#include "bpf/state/blocks.bpf.h"

/* A block without a cached page only records evicted pages. */
static __always_inline bool block_is_ghosts(struct block *b)
{
	for (int i = 0; i < BLOCK_CHUNKS; i++)
		if (b->chunks[i].resident || b->chunks[i].outstanding)
			return false;
	return true;
}

/* Independent count of unsettled pages, from the bits: the other side of the conservation law. */
STEP count_step(struct bpf_map *map, struct block_key *key, struct block *b, __u64 *sum)
{
	for (int i = 0; i < BLOCK_CHUNKS; i++)
		*sum += popcount64(b->chunks[i].outstanding);
	return 0;
}

#endif
