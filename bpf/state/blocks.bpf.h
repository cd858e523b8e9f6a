/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The place of a page's state: a bit in each word of a chunk, which has 64 pages, in a block of
 * chunks. page_state.bpf.h of the build changes it.
 */
#ifndef BLOCKS_BPF_H
#define BLOCKS_BPF_H

#include "bpf/state/live.bpf.h"

static const struct block zero_block;

struct page_range {
	__u64 first, last;
};

static __always_inline void block_key_of(struct file_key *file, __u64 page, __u32 slot,
					 struct block_key *key)
{
	key->file = *file;
	key->block = page / BLOCK_PAGES << 8 | slot;
}

static __always_inline __u32 now_ms(void)
{
	return bpf_ktime_get_ns() / 1000000;
}

/* n pages of the file now have an open fate. */
static __always_inline void outstanding_begin(__u64 ino, struct file_row *row, int n)
{
	if (!n)
		return;
	row_add(row, C_resident_unused, n);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(ino)], OUTSTANDING_ADD + n);
}

#endif
