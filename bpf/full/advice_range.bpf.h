/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The range that advice has asked for so far, in an advice row that several CPUs may widen at once.
 */
#ifndef FULL_ADVICE_RANGE_BPF_H
#define FULL_ADVICE_RANGE_BPF_H

#include "bpf/state/maps.bpf.h"

/* How often a CPU retries after another was faster; then the range stays too narrow. */
#define RANGE_TRIES 8

static __always_inline void range_begin(__u64 *begin, __u64 to)
{
	for (int i = 0; i < RANGE_TRIES; i++) {
		__u64 now = *(volatile __u64 *)begin;

		if (to >= now || __sync_val_compare_and_swap(begin, now, to) == now)
			return;
	}
}

static __always_inline void range_end(__u64 *end, __u64 to)
{
	for (int i = 0; i < RANGE_TRIES; i++) {
		__u64 now = *(volatile __u64 *)end;

		if (to <= now || __sync_val_compare_and_swap(end, now, to) == now)
			return;
	}
}

/* Verified separately, because its paths would multiply with those of its callers. */
GLOBAL int range_widen(struct advice_row *row, __u64 begin, __u64 end)
{
	if (!row)
		return 0;
	range_begin(&row->begin_bytes, begin);
	range_end(&row->end_bytes, end);
	return 0;
}

/* No range yet. */
static __always_inline __u64 advice_range_lock(struct inode *inode)
{
	return 0;
}

/* A program gave advice for begin..end. lock: that of the inode, with the kind in its low bits. */
static __always_inline void advice_range_add(struct advice_row *row, __u64 lock, __u64 begin,
					     __u64 end)
{
	range_widen(row, begin, end);
}

#endif
