// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The per-read hook: lookups, hits, bytes, and the fate of prefetched pages that a call reads. The
 * only program on the hit path: no helper call while the reader stays on one file that has no
 * page of unknown fate.
 */
#include "bpf/roles/hooks.bpf.h"
#include "bpf/kernel/folio.bpf.h"
#include OF_BUILD(page_state.bpf.h)
#include "bpf/roles/calls.bpf.h"
#include OF_BUILD(plain.bpf.h)

/*
 * The call slept for I/O before this event. The folio at index is the one it waited for, if it was
 * for any: a wait drops the folio and looks it up again, or ends the batch before it. If the call
 * did not add it itself, it was on its way for somebody else's sake: a delayed hit, a late
 * prefetch.
 */
GLOBAL int read_woke(struct live *l, __u64 mapping_addr, __u64 index, __u64 last)
{
	struct address_space *mapping = CAST(address_space, mapping_addr);
	struct inode *inode = READ(mapping, host);
	struct task_state *s;
	__u64 first, end, n;
	struct file_row *row;

	if (!l)
		return 0;
	s = &l->s;
	if (s->job != JOB_WATCHED)
		goto out;
	row = live_row(l, inode, HINT_OWN, s->job);
	row_add(row, C_stall_ns, s->stall_ns);
	row_add(row, C_stalls, s->stalls);
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
	s->stall_ns = 0;
	s->stalls = 0;
	s->stall_kind = 0;
	s->flags &= ~TASK_AWAITED;
	return 0;
}

/* A read of io_uring goes on that the task has waited for at its ring. Where a function is the
 * hook, it is seen to begin as well. */
static __always_inline void ring_woke(struct live *l, struct inode *inode, bool by_call, bool retry)
{
	struct task_state *s = &l->s;
	struct file_row *row;

	if (by_call && !retry) {
		ring_forget(s);
		return;
	}
	row = live_row(l, inode, HINT_OWN, s->job);
	row_add(row, C_stall_ns, s->stall_ns);
	row_add(row, C_stalls, s->stalls);
	ring_forget(s);
}

/* A function is seen before its lookup: what others added meanwhile the call has read as well. */
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

/* How far a call has come: where the hook is above all its batches, and of one that nothing else
 * tells from the next one in the same request's memory. */
#ifdef CACHEMON_BASIC
static __always_inline void read_iter_show(struct live *l, __u64 iter)
{
	__u64 off = iter - (__u64)READ(CAST(task_struct, l->task), stack);

	l->now.iter = off < 1 << 20 ? off : 0;
}

static __always_inline void read_iter_keep(struct live *l)
{
	l->s.read_iter = l->now.iter;
}
#else
static __always_inline void read_iter_show(struct live *l, __u64 iter)
{
	struct iov_iter *i = CAST(iov_iter, iter);
	struct iter_place *p = &l->now.place;

	if (!l->now.iocb || !bpf_core_field_exists(struct iov_iter, iov))
		return;
	p->segment = (__u64)READ(i, iov);
	p->vector_end = p->segment + READ(i, nr_segs) * sizeof(struct iovec);
	p->base = l->now.pos - READ(i, iov_offset);
}

static __always_inline void read_iter_keep(struct live *l)
{
	l->s.read_place = l->now.place;
}
#endif

/* What any read may be; by_call: the hook is a function, and l->now tells the rest. */
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
		if (!(s->flags & TASK_STORED) && s->job == JOB_WATCHED)
			live_keep(l);
	}
	if (s->stalls && s->stall_kind == STALL_URING &&
	    (by_call ? l->now.iocb != 0 : s->read_id == URING_CALL))
		ring_woke(l, inode, by_call, l->now.retry);
	if (by_call) {
		s->read_at = l->now.pos;
		s->read_upto = l->now.end;
		read_iter_keep(l);
		l->now.end = 0;
	}
	if (s->win_inode == (__u64)inode && !(s->win_kind & WIN_IN_FAULT))
		s->win_inode = 0;
	if (!by_call && s->stalls && s->stall_kind == STALL_READ)
		read_woke(l, mapping_addr, index, last);
	ahead = shared.outstanding[outstanding_slot(READ(inode, i_ino))];
	if (!(__u32)ahead || (s->read_ahead == ahead >> 32 && s->read_settled > last))
		return 0;
	/* What the call passed since its last event, and what it will reach: a fate is settled
	 * when the page is asked for, before anybody can evict it. */
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

#ifndef CACHEMON_BASIC
static __noinline int read_not_plain(__u64 *ctx)
{
	struct live *l = live_now();
	__u64 mapping, index, last;

	if (!l)
		return 0;
	mapping = addr_of(l, (void *)ctx[0]);
	index = ctx[1];
	last = ctx[2];
	if (read_plain_long(l, mapping, index, last))
		return 0;
	read_any(l, mapping, index, last);
	read_expect(l, mapping);
	return 0;
}

static __always_inline void read_event_tp(__u64 *ctx)
{
	if (!read_plain(&ctx[0], &ctx[2]))
		read_not_plain(ctx);
}

/* A program each for kernels that switch tasks inside of it and for those that do not: to ask for
 * it would cost each read. Arguments are fetched where they are needed. */
SEC("?tp_btf/mm_filemap_get_pages")
int read_tp(__u64 *ctx)
{
	read_event_tp(ctx);
	return 0;
}

SEC("?tp_btf/mm_filemap_get_pages")
int read_alone_tp(__u64 *ctx)
{
	bpf_preempt_disable();
	read_event_tp(ctx);
	bpf_preempt_enable();
	return 0;
}

#else
SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(read_tp, struct address_space *mapping, unsigned long index, unsigned long last)
{
	return WITH_LIVE_UNCOUNTED(l, read_any(l, addr_of(l, mapping), index, last));
}

/* No kernel of this build has use for it. */
SEC("?tp_btf/mm_filemap_get_pages")
int read_alone_tp(__u64 *ctx)
{
	return 0;
}
#endif

/*
 * io_uring comes back to a read that had to wait: with IOCB_WAITQ where it was submitted, from task
 * work with what it had to remember of it, or in a worker, which sees a read first only when it was
 * forced there.
 */
static __always_inline bool uring_comes_back(struct live *l, struct kiocb *iocb)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct io_kiocb *req = CAST(io_kiocb, addr_of(l, iocb));

	if (l->regs && REGS_NR(l->regs) == NR_io_submit)
		return false;
	if (READ(iocb, ki_flags) & IOCB_WAITQ)
		return true;
	if (READ(req, flags) & REQ_F_FORCE_ASYNC)
		return false;
	return READ(t, flags) & PF_IO_WORKER || READ(req, async_data);
}

/*
 * Where no tracepoint is: the function below each buffered read, at the beginning of each batch of
 * folios (of the whole call before 5.12), with what the call has still to read. iter 0: not shown.
 */
GLOBAL int read_call(struct live *l, __u64 iocb_addr, __u64 count, __u64 iter)
{
	struct kiocb *iocb = CAST(kiocb, iocb_addr);
	struct address_space *mapping = READ(iocb, ki_filp, f_mapping);
	__u64 pos = READ(iocb, ki_pos), end = pos + count, mapping_addr;

	if (!l || !count || !mapping)
		return 0;
	l->now.iocb = READ(iocb, ki_complete) ? iocb_addr : 0;
	l->now.pos = pos;
	l->now.end = end;
	l->now.retry = l->now.iocb && uring_comes_back(l, iocb);
	if (iter)
		read_iter_show(l, iter);
	mapping_addr = addr_of(l, mapping);
	read_any_call(l, mapping_addr, pos >> page_shift, (end - 1) >> page_shift);
	if (l->now.iocb)
		row_name_below(l, READ(mapping, host), READ(iocb, ki_filp));
	l->now.end = 0;
	read_expect(l, mapping_addr);
	settle_asked(l);
	return 0;
}

/* A hook that cannot be taken off and attached again is told whether it is on. */
static __always_inline struct live *live_reads(void)
{
#ifdef CACHEMON_BASIC
	if (!shared.read_on)
		return NULL;
#endif
	return live_now();
}

/* 6.12 on. */
SEC("?fentry/filemap_get_pages")
int BPF_PROG(read_count_fn, struct kiocb *iocb, size_t count)
{
	struct live *l;

	if (read_plain_call(iocb, NULL, count))
		return 0;
	l = live_reads();
	return l ? read_call(l, addr_of(l, iocb), count, 0) : 0;
}

/* 5.12 on. */
SEC("?fentry/filemap_get_pages")
int BPF_PROG(read_iter_fn, struct kiocb *iocb, struct iov_iter *iter)
{
	struct live *l;

	if (read_plain_call(iocb, iter, TYPED(iter, count)))
		return 0;
	l = live_reads();
	return l ? read_call(l, addr_of(l, iocb), TYPED(iter, count), addr_of(l, iter)) : 0;
}

/* It looks a page up and then at the size: what begins at the end of the file is no read. Later
 * kernels look at the size before. */
static __always_inline int read_whole(struct live *l, __u64 iocb, __u64 iter)
{
	struct kiocb *k = CAST(kiocb, iocb);

	if (READ(k, ki_pos) >= READ(k, ki_filp, f_mapping, host, i_size))
		return 0;
	return read_call(l, iocb, READ(CAST(iov_iter, iter), count), iter);
}

ON_ENTRY_OF(generic_file_buffered_read, read_whole, live_reads(),
	    read_whole(l, ADDR(l, iocb), ADDR(l, iter)), struct kiocb *iocb, struct iov_iter *iter)

SEC("?kprobe/filemap_get_pages")
int BPF_KPROBE(read_count_kp, struct kiocb *iocb, size_t count)
{
	return WITH_LIVE_OF(l, live_reads(), read_call(l, (__u64)iocb, count, 0));
}

SEC("?kprobe/filemap_get_pages")
int BPF_KPROBE(read_iter_kp, struct kiocb *iocb, struct iov_iter *iter)
{
	return WITH_LIVE_OF(
		l, live_reads(),
		read_call(l, (__u64)iocb, READ(CAST(iov_iter, iter), count), (__u64)iter));
}
