/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Classifies a page that enters the cache by what its task is doing (window, fault, advice, write).
 * Owns the class, and what an add changes in its task's window and call.
 */
#ifndef ADDS_BPF_H
#define ADDS_BPF_H

#include "bpf/kernel/folio.bpf.h"
#include "bpf/state/blocks.bpf.h"
#include OF_BUILD(live_rows.bpf.h)

static __always_inline struct page_range folio_range(struct folio *f)
{
	__u64 first = folio_index(f);

	return (struct page_range){first, first + folio_pages(f) - 1};
}

/* The class of an add: pages lo..hi were requested, the others were prefetched. */
struct added {
	__u64 lo, hi;
	__u16 origin; /* prefetched_* counter of pages that were not requested; 0: not prefetched */
	__u16 counter; /* of other adds: written_pages or other_added_pages */
	bool by_read;  /* a read call missed the requested pages */
	bool by_fault;
	bool by_advice;
	__u8 adviser; /* ADVISER_* that brought in the pages; 0: none, or outside the job */
};

/* The use of a folio that comes in a fault cannot be seen if it is mapped as a whole. That happens
 * to the folio of the fault itself, and to one as large as an entry of an upper page table (page
 * size / 8 pages), which a later fault maps without an event (filemap_map_pmd). */
static __always_inline bool mapped_unseen(struct live *l, const struct added *a,
					  const struct page_range *r)
{
	if (!a->by_fault || r->first == r->last)
		return false;
	return (r->first <= l->s.fault_index && l->s.fault_index <= r->last) ||
	       r->last - r->first + 1 >= 1ull << (page_shift - 3);
}

static __always_inline bool nr_writes(long nr)
{
	return nr == NR_write || nr == NR_pwrite64 || nr == NR_writev || nr == NR_pwritev ||
	       nr == NR_pwritev2 || nr == NR_sendfile || nr == NR_splice ||
	       nr == NR_copy_file_range || nr == NR_fallocate || nr == NR_io_uring_enter ||
	       nr == NR_io_submit;
}

/* io_uring always runs advice that brings in pages in a worker, which may also run a write
 * afterwards. */
static __always_inline bool advises(struct live *l, struct task_struct *t, long nr)
{
	__u8 op;

	if (l->regs)
		return nr == NR_fadvise64 || nr == NR_madvise || nr == NR_readahead ||
		       nr == NR_process_madvise;
	if (!(READ(t, flags) & PF_IO_WORKER) || !worker_is_shown(t))
		return true;
	op = READ(worker_request(t), opcode);
	return op == IORING_OP_FADVISE || op == IORING_OP_MADVISE;
}

GLOBAL int add_class(struct live *l, __u64 inode_addr, struct page_range *r, struct added *a)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct task_struct *t;
	__u64 regs;
	struct task_state *s;
	bool fault, win_fault;
	__u64 syscr, eof;
	long nr;

	if (!l || !r || !a)
		return 0;
	t = CAST(task_struct, l->task);
	regs = l->regs;
	s = &l->s;
	nr = l->regs ? REGS_NR(regs) : NR_io_uring_enter;
	fault = s->fault_inode == inode_addr && s->fault_id == fault_clock(t);
	win_fault = s->win_kind & WIN_IN_FAULT;
	*a = (struct added){.lo = 1, .hi = 0, .counter = C_other_added_pages};
	syscr = READ(t, ioac.syscr);
	/* Two loads, because older verifiers reject one load of either pointer. */
	if (s->win_inode == inode_addr && win_fault == fault &&
	    ((fault && s->win_id == s->fault_id) || (!fault && s->win_id == syscr))) {
		a->by_advice = s->win_lo > s->win_hi;
		if (!a->by_advice || advises(l, t, nr)) {
			a->lo = s->win_lo;
			a->hi = s->win_hi;
			/* A filesystem may bring in pages beyond the end of the file. */
			eof = READ(inode, i_size);
			eof = eof ? (eof - 1) >> page_shift : 0;
			if (!a->by_advice && a->hi > eof)
				a->hi = eof > a->lo ? eof : a->lo;
			a->origin = s->win_origin;
			a->by_read = !fault;
			a->by_fault = fault;
			return 0;
		}
		a->by_advice = false;
	}
	if (fault && r->first <= s->fault_index && s->fault_index <= r->last) {
		/* MADV_RANDOM, or read-around switched off: a single page without a window. */
		a->lo = a->hi = s->fault_index;
		a->origin = C_prefetched_mmap_around;
		a->by_fault = true;
		return 0;
	}
	if (nr_writes(nr) && (READ(inode, i_mode) & S_IFMT) == S_IFREG) {
		a->counter = C_written_pages;
	} else if (nr_writes(nr) && l->regs) {
		/* A block device: metadata of a filesystem on it is not the user's write. */
		struct file *file = file_of_fd(t, (__u32)REGS_ARG1(regs));

		if (file && READ(file, f_mapping) == READ(inode, i_mapping))
			a->counter = C_written_pages;
	}
	return 0;
}

/* The window grew or shrank. It moves between histogram buckets as its pages arrive, so the
 * histogram is always right without an event at the end of a window. */
GLOBAL int window_grow(struct live *l, struct file_row *row, __u64 pages)
{
	__u64 before, after;
	struct task_state *s;

	if (!l || !row)
		return 0;
	s = &l->s;
	before = s->win_pages;
	after = before + pages;
	s->win_pages = after;
	if (!before || !after) {
		__u32 kind = s->win_kind & WIN_KIND;
		int by = before ? -1 : 1;

		row_add(row,
			kind == WIN_SYNC    ? C_windows_sync
			: kind == WIN_ASYNC ? C_windows_async
					    : C_windows_forced,
			by);
		row_add(row, C_window_log2_0 + log2_at_most(before | after, 15), by);
	} else if ((before ^ after) > (before & after)) { /* the highest bit changed */
		row_add(row, C_window_log2_0 + log2_at_most(before, 15), -1);
		row_add(row, C_window_log2_0 + log2_at_most(after, 15), 1);
	}
	return 0;
}

/* The running call's misses in the file; they are counted at its end. */
static __always_inline bool call_is_due(struct live *l, __u64 inode)
{
	return l->s.due_bytes && l->s.read_inode == inode && l->s.due_id == l->s.win_id;
}

/* A bit for each of those pages among the first 64 of the call. */
static __always_inline __u64 call_pages(const struct task_state *s, __u64 first, __u64 nr)
{
	if (!nr || first < s->due_page || first - s->due_page >= 64)
		return 0;
	return ~0ull >> (nr < 64 ? 64 - nr : 0) << (first - s->due_page);
}

static __always_inline void call_misses(struct live *l, __u64 first, __u64 nr)
{
	l->s.due_misses += nr;
	l->s.due_missed |= call_pages(&l->s, first, nr);
}

#endif
