/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads whose hook is a function that sees the call, as in full/by_call.bpf.h. It is the caller of
 * all batches, so that a call has one event; the call's progress is on its stack.
 */
#ifndef BASIC_BY_CALL_BPF_H
#define BASIC_BY_CALL_BPF_H

#include "bpf/state/live.bpf.h"

/* The flag says when the hook is on: attaching takes too long, and some hooks cannot be attached
 * twice. */
static __always_inline struct live *live_reads(void)
{
	if (!shared.read_on)
		return NULL;
	return live_now();
}

static __always_inline void place_show(struct live *l, __u64 iter)
{
	__u64 off = iter - (__u64)READ(CAST(task_struct, l->task), stack);

	l->now.iter = off < 1 << 20 ? off : 0;
}

static __always_inline void place_keep(struct live *l)
{
	l->s.read_iter = l->now.iter;
}

static __always_inline bool place_goes_on(struct live *l)
{
	return !l->now.iocb;
}

/* Bytes that the call has not copied yet. */
static __always_inline __u64 wait_left(const struct task_state *s)
{
	__u64 stack = (__u64)READ(current_task(), stack);

	return READ(CAST(iov_iter, stack + s->read_iter), count);
}

/* The event is for one folio: the call is at this very page. */
#define WAIT_LOOP(step, w) step(0, w)

static __always_inline void wait_narrow(const struct task_state *s, __u64 *index, __u64 *last)
{
	if (s->read_iter)
		*index = (s->read_upto - wait_left(s)) >> page_shift;
}

#endif
