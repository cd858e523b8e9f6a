// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Readahead windows: the cause and the range, before the pages arrive. A window classifies the next
 * adds of this task; its size is what it really added (pages.bpf.c), because the arguments here are
 * not yet clamped by the kernel.
 */
#include "bpf/roles/hooks.bpf.h"
#include OF_BUILD(page_state.bpf.h)
#include "bpf/roles/calls.bpf.h"
#include "bpf/roles/advice.bpf.h"

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

static __always_inline void trace_window(struct live *l, struct inode *inode, __u64 file,
					 enum note_hook hook, __u64 index, __u64 pages)
{
	l->note.file = file;
	trace_send(l, addr_of(l, inode), NOTE(NOTE_WINDOW, hook, 0, 0), index, pages);
}

static __always_inline int window(struct live *l, struct inode *inode, __u64 index,
				  struct file_ra_state *ra, __u64 req, __u32 kind, __u32 origin)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct task_state *s = &l->s;
	struct file *file = CAST(file, file_of_ra(l, ra));
	__u64 id = READ(t, ioac.syscr), last = index + req - 1;

	call_finish(l, id);
	if (!inode_counts(inode))
		return 0;
	s->win_at = index;
	if (s->job != JOB_OTHERS)
		advice_standing(l, inode, file, ra);
	if (in_fault(s, t, inode)) {
		row_name_below(l, inode, file);
		window_open(l, inode, s->fault_id, kind | WIN_IN_FAULT, origin, s->fault_index,
			    s->fault_index);
		return 0;
	}
	/* Metadata of a filesystem, read on behalf of the task: not a read of the device. */
	if ((READ(inode, i_mode) & S_IFMT) == S_IFBLK && l->regs) {
		long call = REGS_NR(l->regs);

		if (call != NR_io_uring_enter && call != NR_io_submit &&
		    !file_of_call(l, inode, false)) {
			s->win_inode = 0;
			return 0;
		}
	}
	/* page_cache_sync_ra(): with FADV_RANDOM or without readahead it reads exactly the
	 * request. */
	if (kind == WIN_SYNC && (READ(file, f_mode) & FMODE_RANDOM || !READ(ra, ra_pages)))
		kind = WIN_FORCED;
	if (s->read_inode != (__u64)inode || s->read_id != id ||
	    (last != s->read_last && !(s->read_end && last <= s->read_last))) {
		/* A window is the first sign of a call. io_uring and AIO may continue the call in
		 * another context; then only the per-read hook counts it. An async window starts at
		 * the head of the marked folio, which may lie before the first requested page. */
		__u64 regs = l->regs;
		long nr = l->regs ? REGS_NR(regs) : -1;

		if (nr < 0 || nr == NR_io_uring_enter || nr == NR_io_submit) {
			s->read_inode = 0;
			s->miss_first = ~0ull;
			s->miss_last = 0;
			row_name_below(l, inode, file);
			window_open(l, inode, id, kind, origin, index, last);
			return 0;
		}
		s->win_inode = 0;
		l->note.file = (__u64)file;
		call_open(l, inode, id, (kind & WIN_KIND) == WIN_ASYNC ? last : index, last,
			  shared.read_on);
		l->note.file = 0;
		/* The per-read hook will reach this very page. */
		s->read_next = s->read_begin;
	}
	window_open(l, inode, id, kind, origin, s->read_begin, s->read_last);
	return 0;
}

static __always_inline int window_asked(struct live *l, struct inode *inode, __u64 index,
					struct file_ra_state *ra, __u64 req, bool sync)
{
	window(l, inode, index, ra, req, sync ? WIN_SYNC : WIN_ASYNC,
	       sync ? C_prefetched_sync : C_prefetched_async);
	if (trace_may(inode))
		trace_window(l, inode, file_of_ra(l, ra), sync ? NOTE_SYNC : NOTE_ASYNC, index,
			     req);
	return 0;
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

/* For the functions that contain the tracepoints. ra: 0 if control has it. */
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
 * The step below: it opens a window only if neither sync nor async did. In a fault that is
 * read-around; elsewhere it is force_page_cache_ra() for advice, in chunks of one window. True: it
 * opened one for advice.
 */
static __always_inline bool window_step_of(struct live *l, struct inode *inode)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct task_state *s = &l->s;
	__u64 id = READ(t, ioac.syscr);
	bool fault = in_fault(s, t, inode);

	if (!inode_counts(inode))
		return false;
	if (s->win_inode == (__u64)inode && s->win_id == (fault ? s->fault_id : id) &&
	    !!(s->win_kind & WIN_IN_FAULT) == fault) {
		if (s->win_kind != WIN_FORCED || s->win_lo <= s->win_hi)
			return false;
		if (!advice_is_new(l, inode))
			return false;
	}
	if (fault)
		window_open(l, inode, s->fault_id, WIN_SYNC | WIN_IN_FAULT,
			    C_prefetched_mmap_around, s->fault_index, s->fault_index);
	else
		window_open(l, inode, id, WIN_FORCED, advice_origin(l), 1, 0);
	return !fault;
}

static __always_inline int window_step(struct live *l, struct inode *inode, __u64 file,
				       enum note_hook hook, __u64 index, __u64 pages)
{
	bool advised = window_step_of(l, inode);

	if (file && l->s.win_kind & WIN_IN_FAULT)
		row_name_below(l, inode, CAST(file, file));
	/* This may be the file's first event, which decides about tracing. */
	if (advised && trace_chooses(l))
		live_row(l, inode, HINT_OWN, l->s.job);
	if (!trace_may(inode))
		return 0;
	/* Outside reads and faults: an advice request is recorded before its effects. */
	if (l->s.win_inode == (__u64)inode && l->s.win_lo > l->s.win_hi)
		trace_advice_now(l, inode);
	trace_window(l, inode, file, hook, index, pages);
	return 0;
}

SEC("?tp_btf/page_cache_ra_order")
int BPF_PROG(ra_order_tp, struct inode *inode, unsigned long index, struct file_ra_state *ra)
{
	return WITH_LIVE(l, EV_WINDOW,
			 window_step(l, inode, file_of_ra(l, ra), NOTE_ORDER, index, 0));
}

SEC("?tp_btf/page_cache_ra_unbounded")
int BPF_PROG(ra_unbound_tp, struct inode *inode, unsigned long index, unsigned long nr,
	     unsigned long lookahead)
{
	return WITH_LIVE(l, EV_WINDOW,
			 (l->note.lookahead = lookahead,
			  window_step(l, inode, 0, NOTE_UNBOUNDED, index, nr)));
}

GLOBAL int window_step_of_control(struct live *l, __u64 control, __u32 hook, __u64 pages)
{
	struct readahead_control *c = CAST(readahead_control, control);

	/* Without traces no code uses these arguments. Compilers would then not pass them, and the
	 * verifier rejects a missing argument. */
	barrier_var(hook);
	barrier_var(pages);
	return l ? window_step(l, CAST(inode, addr_of(l, READ(c, mapping, host))),
			       addr_of(l, READ(c, file)), hook, READ(c, _index), pages)
		 : 0;
}

ON_ENTRY(page_cache_ra_order, ra_order, EV_WINDOW,
	 window_step_of_control(l, ADDR(l, c), NOTE_ORDER, 0), struct readahead_control *c)
ON_ENTRY(do_page_cache_ra, do_ra, EV_WINDOW,
	 window_step_of_control(l, ADDR(l, c), NOTE_UNBOUNDED, pages), struct readahead_control *c,
	 unsigned long pages)
ON_ENTRY(page_cache_ra_unbounded, ra_unbound, EV_WINDOW,
	 window_step_of_control(l, ADDR(l, c), NOTE_UNBOUNDED, pages), struct readahead_control *c,
	 unsigned long pages)
