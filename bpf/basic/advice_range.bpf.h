/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The range that advice has asked for so far, as in full/advice_range.bpf.h, under a lock. */
#ifndef BASIC_ADVICE_RANGE_BPF_H
#define BASIC_ADVICE_RANGE_BPF_H

#include "bpf/basic/locks.bpf.h"

static __noinline int range_widen(struct advice_row *row, __u64 lock, __u64 begin, __u64 end)
{
	if (!lock_take(lock)) {
		__sync_fetch_and_add(&shared.losses.advice_full, 1);
		return 0;
	}
	if (begin < row->begin_bytes)
		row->begin_bytes = begin;
	if (end > row->end_bytes)
		row->end_bytes = end;
	lock_drop(lock);
	return 0;
}

static __always_inline __u64 advice_range_lock(struct inode *inode)
{
	return READ(inode, i_ino) << 24;
}

static __always_inline void advice_range_add(struct advice_row *row, __u64 lock, __u64 begin,
					     __u64 end)
{
	range_widen(row, lock, begin, end);
}

#endif
