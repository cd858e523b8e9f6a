/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks, for kernels whose programs have neither spin locks nor atomic operations that return the
 * old value. A lock is an element of a hash: of two programs that insert it at once, only one
 * succeeds. The holder runs with preemption off and calls nothing that waits. Owns taking and
 * releasing; the callers decide what a lock protects. A program holds one lock at a time, so one
 * lock may protect several things. A program that does not get a lock in time (for example because
 * the holder's virtual CPU is stopped) counts the loss.
 */
#ifndef BASIC_LOCKS_BPF_H
#define BASIC_LOCKS_BPF_H

#include "bpf/state/maps.bpf.h"

#define LOCK_TRIES 32

static __noinline int lock_take(__u64 of)
{
	__u32 one = 1;

	for (int i = 0; i < LOCK_TRIES; i++)
		if (!bpf_map_update_elem(&locks, &of, &one, BPF_NOEXIST))
			return 1;
	return 0;
}

static __always_inline void lock_drop(__u64 of)
{
	bpf_map_delete_elem(&locks, &of);
}

#endif
