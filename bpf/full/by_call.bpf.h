/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads whose hook is a function that sees the call (config.reads_by_call): the progress of a call,
 * which only the memory of its request distinguishes from the next call, and the folios it may wait
 * for.
 */
#ifndef FULL_BY_CALL_BPF_H
#define FULL_BY_CALL_BPF_H

#include "bpf/state/live.bpf.h"

/* NULL before the start and while the hook is off (as in read_tp.bpf.c). */
static __always_inline struct live *live_reads(void)
{
	if (!shared.read_on)
		return NULL;
	return live_now();
}

static __always_inline void place_show(struct live *l, __u64 iter)
{
	struct iov_iter *i = CAST(iov_iter, iter);
	struct iter_place *p = &l->now.place;

	if (!l->now.iocb || !bpf_core_field_exists(struct iov_iter, iov))
		return;
	p->segment = (__u64)READ(i, iov);
	p->vector_end = p->segment + READ(i, nr_segs) * sizeof(struct iovec);
	p->base = l->now.pos - READ(i, iov_offset);
}

static __always_inline void place_keep(struct live *l)
{
	l->s.read_place = l->now.place;
}

/* The memory of a request is reused for the next one, which may read the same file and end in the
 * same place. The buffers that the old one filled then say nothing about the new one. */
static __always_inline bool place_goes_on(struct live *l)
{
	struct iter_place *was = &l->s.read_place, *is = &l->now.place;

	if (!l->now.iocb)
		return true; /* ioac.syscr decides */
	return is->vector_end == was->vector_end &&
	       (is->segment > was->segment ||
		(is->segment == was->segment && is->base == was->base));
}

/* A lookup takes 15 folios at most (PAGEVEC_SIZE; 31 in 6.12, where a tracepoint is the hook). */
#define WAIT_FOLIOS_MAX	   64
#define WAIT_LOOP(step, w) LOOP(WAIT_FOLIOS_MAX, WAIT_FOLIOS_MAX, step, w)

/* Searches the folio that a call waits for, from index to last: at most up to the folio that
 * triggered the window, whose head may lie before the call. A call that has waited for that folio
 * continues the search in the same event. */
static __always_inline void wait_narrow(const struct task_state *s, __u64 *index, __u64 *last)
{
	if (window_is_open(s, s->read_id) && s->read_wait != s->win_at + 1 && s->win_at < *last)
		*last = s->win_at > *index ? s->win_at : *index;
}

#endif
