/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles a read event: lookups, hits, bytes, and the fate of prefetched pages that a call reads.
 * Needs no helper call while the reader stays on one file without pages of open fate.
 */
#ifndef READS_BPF_H
#define READS_BPF_H

#include "bpf/kernel/folio.bpf.h"
#include "bpf/roles/calls.bpf.h"
#include OF_BUILD(page_state.bpf.h)

/* The call slept for I/O before this event. If it waited for a folio, it was the one at index:
 * after a wait the call drops the folio and looks it up again, or ends the batch before it. If the
 * call did not add the folio, the folio was already on its way: a delayed hit, or a late
 * prefetch. */
GLOBAL int read_woke(struct live *l, __u64 mapping_addr, __u64 index, __u64 last)
{
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct inode *inode = READ(mapping, host);
	struct task_state *s;
	__u64 first, end, n;
	struct file_key file;
	struct file_row *row;

	if (!l)
		return 0;
	s = &l->s;
	if (s->job == JOB_OTHERS)
		goto out;
	row = live_row(l, inode, HINT_OWN, s->job);
	row_add(row, C_stall_ns, s->stall_ns);
	row_add(row, C_stalls, s->stalls);
	process_note(l, s->stall_ns, s->stalls);
	file_key_of(inode, &file);
	stall_charged(l, &file);
	if (!(s->flags & TASK_AWAITED) || (index >= s->miss_first && index <= s->miss_last))
		goto out;
	if (!folio_span(l, mapping, index, &first, &end))
		goto out;
	if (first < s->read_begin)
		first = s->read_begin;
	if (first < index)
		first = index;
	if (end > last)
		end = last;
	if (!READ(inode, i_size))
		goto out;
	n = (READ(inode, i_size) - 1) >> page_shift;
	if (end > n)
		end = n;
	if (end < first)
		goto out;
	row_add(row, C_delayed_hits, end - first + 1);
	settle(l, addr_of(l, inode), first, end, C_used_late);
out:
	stall_forget(s);
	s->stall_kind = 0;
	s->flags &= ~TASK_AWAITED;
	return 0;
}

/* An io_uring read continues, for which the task has waited at its ring. If the hook is a function,
 * it also saw the beginning of the read. */
static __always_inline void ring_woke(struct live *l, struct inode *inode, bool by_call, bool retry)
{
	struct task_state *s = &l->s;
	struct file_key file;
	struct file_row *row;

	if (by_call && !retry) {
		ring_forget(s);
		return;
	}
	row = live_row(l, inode, HINT_OWN, s->job);
	row_add(row, C_stall_ns, s->stall_ns);
	row_add(row, C_stalls, s->stalls);
	process_note(l, s->stall_ns, s->stalls);
	file_key_of(inode, &file);
	stall_charged(l, &file);
}

/* The function is seen before its lookup, so the call has also read what others added meanwhile. */
static __always_inline void read_settle_last(struct live *l, struct inode *inode)
{
	struct task_state *s = &l->s;
	__u64 ahead;

	if (s->read_inode != (__u64)inode || s->read_begin > s->read_last)
		return;
	ahead = shared.outstanding[outstanding_slot(READ(inode, i_ino))];
	if ((__u32)ahead && s->read_ahead != ahead >> 32)
		settle(l, addr_of(l, inode), s->read_begin, s->read_last, C_used);
}

/* Handles any read; by_call: the hook is a function, and l->now has the rest. */
static __always_inline int read_event(struct live *l, __u64 mapping_addr, __u64 index, __u64 last,
				      bool by_call)
{
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct inode *inode = READ(mapping, host);
	struct task_state *s;
	__u64 id, ahead, from;

	live_runs(l, EV_READ);
	s = &l->s;
	id = READ(CAST(task_struct, l->task), ioac.syscr);
	read_wait_finish(l, id);
	call_finish(l, id);
	if (by_call ? call_goes_on(l, inode, id, last) : call_same(s, inode, id, index, last)) {
		if (s->read_end)
			call_next_part(l, inode, by_call ? l->now.pos : index << page_shift, last,
				       by_call ? l->now.end : 0);
		s->read_next = index + 1;
	} else {
		if (s->read_inode != (__u64)inode && !inode_counts(inode))
			return 0;
		if (by_call)
			read_settle_last(l, inode);
		call_open(l, inode, id, index, last, true);
		s->flags |= TASK_DIRTY;
		if (!(s->flags & TASK_STORED) && s->job != JOB_OTHERS)
			live_keep(l);
	}
	if (s->stalls && s->stall_kind == STALL_URING &&
	    (by_call ? l->now.iocb != 0 : s->read_id == URING_CALL))
		ring_woke(l, inode, by_call, l->now.retry);
	if (by_call) {
		s->read_at = l->now.pos;
		s->read_upto = l->now.end;
		place_keep(l);
		l->now.end = 0;
	}
	if (s->win_inode == (__u64)inode && !(s->win_kind & WIN_IN_FAULT))
		s->win_inode = 0;
	if (!by_call && s->stalls && s->stall_kind == STALL_READ)
		read_woke(l, mapping_addr, index, last);
	ahead = shared.outstanding[outstanding_slot(READ(inode, i_ino))];
	if (!(__u32)ahead || (s->read_ahead == ahead >> 32 && s->read_settled > last))
		return 0;
	/* The range since the call's last event and the range ahead of it: a fate is settled
	 * when the call requests the page, before it can be evicted. */
	from = index;
	if (s->read_settled < from)
		from = s->read_settled;
	settle(l, addr_of(l, inode), from, last, C_used);
	s->read_settled = last + 1;
	s->read_ahead = ahead >> 32;
	return 0;
}

GLOBAL int read_any(struct live *l, __u64 mapping, __u64 index, __u64 last)
{
	return l ? read_event(l, mapping, index, last, false) : 0;
}

GLOBAL int read_any_call(struct live *l, __u64 mapping, __u64 index, __u64 last)
{
	return l ? read_event(l, mapping, index, last, true) : 0;
}

#endif
