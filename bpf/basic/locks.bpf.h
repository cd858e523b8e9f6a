/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What makes several steps on a map's value one, where programs have neither spin locks nor atomic
 * operations that return what was there: an element of a hash that was not there before (the kernel
 * lets one of two that insert it at once succeed). Who holds a lock runs with preemption off and
 * calls nothing that waits. Owns taking and dropping; what a lock is of is for its users to say.
 *
 * Never two at once, so that a lock may be of more than one thing. Who does not get it in time (the
 * holder's virtual CPU stopped, say) says what is lost by it.
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
