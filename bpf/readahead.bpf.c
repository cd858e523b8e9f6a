// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Readahead windows: who asked, for which range, before the pages arrive. A window is what the
 * next adds of this task are classed by; its size is what it really added (pages.bpf.c), since the
 * arguments here are from before the kernel's clamps.
 */
#include "hooks.bpf.h"
#include "chunks.bpf.h"
#include "calls.bpf.h"
#include "advice.bpf.h"

static __always_inline bool in_fault(struct task_state *s, struct task_struct *t,
				     struct inode *inode)
{
	return s->fault_inode == (__u64)inode && s->fault_id == fault_clock(t);
}

static __always_inline void window_open(struct live *l, struct inode *inode, __u64 id, __u32 kind,
					__u32 origin, __u64 lo, __u64 hi)
{
	struct task_state *s = &l->s;

	tally_close();
	s->win_inode = (__u64)inode;
	s->win_id = id;
	s->win_kind = kind;
	s->win_origin = origin;
	s->win_lo = lo;
	s->win_hi = hi;
	s->win_pages = 0;
	live_keep(l);
}

static __always_inline __u64 file_of_ra(struct live *l, struct file_ra_state *ra)
{
	return addr_of(l, ra) - bpf_core_field_offset(struct file, f_ra);
}

static __always_inline int window(struct live *l, struct inode *inode, __u64 index,
				  struct file_ra_state *ra, __u64 req, __u32 kind, __u32 origin)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct task_state *s = &l->s;
	struct file *file = CAST(file, file_of_ra(l, ra));
	__u64 id = READ(t, ioac.syscr), last = index + req - 1;

	if (!inode_counts(inode))
		return 0;
	if (s->job == JOB_WATCHED)
		advice_standing(l, inode, file, ra);
	if (in_fault(s, t, inode)) {
		window_open(l, inode, s->fault_id, kind | WIN_IN_FAULT, origin, s->fault_index,
			    s->fault_index);
		return 0;
	}
	/* Metadata of a filesystem, read on behalf of the task: not a read of the device. */
	if ((READ(inode, i_mode) & S_IFMT) == S_IFBLK && l->regs) {
		long call = REGS_NR(CAST(pt_regs, l->regs));

		if (call != NR_io_uring_enter && call != NR_io_submit &&
		    !file_of_call(l, inode, false)) {
			s->win_inode = 0;
			return 0;
		}
	}
	/* page_cache_sync_ra(): with FADV_RANDOM or no readahead it reads just what was asked. */
	if (kind == WIN_SYNC && (READ(file, f_mode) & FMODE_RANDOM || !READ(ra, ra_pages)))
		kind = WIN_FORCED;
	if (s->read_inode != (__u64)inode || s->read_id != id ||
	    (last != s->read_last && !(s->read_end && last <= s->read_last))) {
		/* A call's first sign. io_uring and AIO may come back to it from another context:
		 * there the per-read hook alone counts it. An async window starts at the head of
		 * the marked folio, which may lie before the first page asked. */
		struct pt_regs *regs = CAST(pt_regs, l->regs);
		long nr = l->regs ? REGS_NR(regs) : -1;

		if (nr < 0 || nr == NR_io_uring_enter || nr == NR_io_submit) {
			s->read_inode = 0;
			s->miss_first = ~0ull;
			s->miss_last = 0;
			window_open(l, inode, id, kind, origin, index, last);
			return 0;
		}
		call_open(l, inode, id, (kind & WIN_KIND) == WIN_ASYNC ? last : index, last,
			  shared.read_on);
		/* The per-read hook will come to this very page. */
		s->read_next = s->read_begin;
	}
	window_open(l, inode, id, kind, origin, s->read_begin, s->read_last);
	return 0;
}

static __always_inline int window_asked(struct live *l, struct inode *inode, __u64 index,
					struct file_ra_state *ra, __u64 req, bool sync)
{
	return window(l, inode, index, ra, req, sync ? WIN_SYNC : WIN_ASYNC,
		      sync ? C_prefetched_sync : C_prefetched_async);
}

SEC("?tp_btf/page_cache_sync_ra")
int BPF_PROG(sync_ra_tp, struct inode *inode, unsigned long index, struct file_ra_state *ra,
	     unsigned long req)
{
	return WITH_LIVE(
		l, EV_WINDOW,
		window_asked(l, PLAIN(inode, inode), index, PLAIN(file_ra_state, ra), req, true));
}

SEC("?tp_btf/page_cache_async_ra")
int BPF_PROG(async_ra_tp, struct inode *inode, unsigned long index, struct file_ra_state *ra,
	     unsigned long req)
{
	return WITH_LIVE(
		l, EV_WINDOW,
		window_asked(l, PLAIN(inode, inode), index, PLAIN(file_ra_state, ra), req, false));
}

/* Of the functions that the tracepoints are in. ra: 0 where the control knows it. */
GLOBAL int window_of_control(struct live *l, __u64 control, __u64 ra, __u64 req, __u32 sync)
{
	struct readahead_control *c = CAST(readahead_control, control);

	if (!l)
		return 0;
	if (!ra && bpf_core_field_exists(c->ra))
		ra = addr_of(l, READ(c, ra));
	return window_asked(l, CAST(inode, addr_of(l, READ(c, mapping, host))), READ(c, _index),
			    CAST(file_ra_state, ra), req, sync);
}

ON_ENTRY(page_cache_sync_ra, sync_ra, EV_WINDOW, window_of_control(l, ADDR(l, c), 0, req, true),
	 struct readahead_control *c, unsigned long req)
ON_ENTRY(page_cache_async_ra, async_ra, EV_WINDOW, window_of_control(l, ADDR(l, c), 0, req, false),
	 struct readahead_control *c, struct folio *folio, unsigned long req)

/* Before 5.18 the state is an argument. */
ON_ENTRY(page_cache_sync_ra, sync_ra3, EV_WINDOW,
	 window_of_control(l, ADDR(l, c), ADDR(l, ra), req, true), struct readahead_control *c,
	 struct file_ra_state *ra, unsigned long req)
ON_ENTRY(page_cache_async_ra, async_ra4, EV_WINDOW,
	 window_of_control(l, ADDR(l, c), ADDR(l, ra), req, false), struct readahead_control *c,
	 struct file_ra_state *ra, struct page *page, unsigned long req)

/*
 * The step below: it opens a window only where neither sync nor async did. In a fault that is
 * read-around; elsewhere force_page_cache_ra() for advice, in chunks of one window.
 */
static __always_inline int window_step(struct live *l, struct inode *inode)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct task_state *s = &l->s;
	__u64 id = READ(t, ioac.syscr);
	bool fault = in_fault(s, t, inode);

	if (!inode_counts(inode))
		return 0;
	if (s->win_inode == (__u64)inode && s->win_id == (fault ? s->fault_id : id) &&
	    !!(s->win_kind & WIN_IN_FAULT) == fault) {
		if (s->win_kind != WIN_FORCED || s->win_lo <= s->win_hi)
			return 0;
		if (!advice_is_new(l, inode))
			return 0;
	}
	if (fault)
		window_open(l, inode, s->fault_id, WIN_SYNC | WIN_IN_FAULT,
			    C_prefetched_mmap_around, s->fault_index, s->fault_index);
	else
		window_open(l, inode, id, WIN_FORCED, advice_origin(l), 1, 0);
	return 0;
}

SEC("?tp_btf/page_cache_ra_order")
int BPF_PROG(ra_order_tp, struct inode *inode, unsigned long index, struct file_ra_state *ra)
{
	return WITH_LIVE(l, EV_WINDOW, window_step(l, inode));
}

SEC("?tp_btf/page_cache_ra_unbounded")
int BPF_PROG(ra_unbound_tp, struct inode *inode, unsigned long index, unsigned long nr,
	     unsigned long lookahead)
{
	return WITH_LIVE(l, EV_WINDOW, window_step(l, inode));
}

GLOBAL int window_step_of_control(struct live *l, __u64 control)
{
	struct readahead_control *c = CAST(readahead_control, control);

	return l ? window_step(l, CAST(inode, addr_of(l, READ(c, mapping, host)))) : 0;
}

#define WINDOW_STEP(function, name)                                                                \
	ON_ENTRY(function, name, EV_WINDOW, window_step_of_control(l, ADDR(l, c)),                 \
		 struct readahead_control *c)

WINDOW_STEP(page_cache_ra_order, ra_order)
WINDOW_STEP(do_page_cache_ra, do_ra)
WINDOW_STEP(page_cache_ra_unbounded, ra_unbound)
