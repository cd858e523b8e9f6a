/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The advice ledger: what madvise, posix_fadvise and readahead(2) asked for and moved. Owns the
 * rows of the advice map. Page events see the effects, and find the running system call in the
 * task's registers. Lasting advice (RANDOM, SEQUENTIAL, NOREUSE) shows in the state of the file at
 * its next window.
 */
#ifndef ADVICE_BPF_H
#define ADVICE_BPF_H

#include "bpf/state/counts.bpf.h"
#include OF_BUILD(advice_range.bpf.h)

struct advice_ask {
	__u32 kind, call;
	__u64 begin, end; /* bytes; end ~0: to the end of the file or unknown */
	__u64 file;	  /* struct file that is mapped there; 0: not by madvise */
	bool range;	  /* begin and end are known */
};

static __always_inline __u32 kind_of_fadvise(__u64 advice)
{
	static const __u8 kinds[] = {ADVICE_NORMAL,   ADVICE_RANDOM,   ADVICE_SEQUENTIAL,
				     ADVICE_WILLNEED, ADVICE_DONTNEED, ADVICE_NOREUSE};

	return advice < sizeof(kinds) ? kinds[advice] : 0;
}

static __always_inline __u32 kind_of_madvise(__u64 advice)
{
	return advice <= 4 ? kind_of_fadvise(advice) : 0;
}

/* The current advice call; 0: none. A separate function from its callers, whose stack would
 * exceed the limit. */
GLOBAL int advice_find(struct live *l, struct advice_ask *a)
{
	struct vma_seen vma = {.l = l};
	__u64 regs, len;
	long nr;

	if (!l || !a)
		return 0;
	regs = l->regs;
	a->range = false;
	a->file = 0;
	a->begin = 0;
	a->end = ~0ull;
	if (!l->regs) {
		/* An io_uring worker: WILLNEED and DONTNEED always run there. */
		a->call = CALL_FADVISE;
		a->kind = 0;
		return !!(READ(CAST(task_struct, l->task), flags) & PF_IO_WORKER);
	}
	nr = REGS_NR(regs);
	if (nr == NR_madvise) {
		a->kind = kind_of_madvise(REGS_ARG3(regs));
		a->call = CALL_MADVISE;
		a->begin = REGS_ARG1(regs);
		len = REGS_ARG2(regs);
		if (vma_find(a->begin, &vma))
			return a->kind != 0;
		a->file = vma.file;
		a->begin += (vma.offset_pages << page_shift) - vma.start;
	} else if (nr == NR_fadvise64) {
		a->kind = kind_of_fadvise(REGS_ARG4(regs));
		a->call = CALL_FADVISE;
		a->begin = REGS_ARG2(regs);
		len = REGS_ARG3(regs);
	} else if (nr == NR_process_madvise) {
		/* The call's ranges are in a vector, and may be those of another process. */
		a->kind = kind_of_madvise(REGS_ARG4(regs));
		a->call = CALL_MADVISE;
		return a->kind != 0;
	} else if (nr == NR_readahead) {
		a->kind = ADVICE_READAHEAD;
		a->call = CALL_READAHEAD;
		a->begin = REGS_ARG2(regs);
		len = REGS_ARG3(regs);
	} else {
		a->call = CALL_FADVISE;
		a->kind = 0;
		return nr == NR_io_uring_enter;
	}
	a->range = true;
	a->end = len ? a->begin + len : ~0ull;
	return a->kind != 0;
}

#define ID_FACTOR 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: odd, its bits well mixed */

/*
 * Distinguishes calls by their arguments and by their task's reads so far: two identical calls
 * without a read in between count as one.
 */
static __always_inline __u64 advice_id(struct live *l)
{
	__u64 regs = l->regs;
	__u64 id;

	if (!l->regs)
		return 1;
	id = REGS_NR(regs);
	id = id * ID_FACTOR + REGS_ARG1(regs);
	id = id * ID_FACTOR + REGS_ARG2(regs);
	id = id * ID_FACTOR + REGS_ARG3(regs);
	id = id * ID_FACTOR + REGS_ARG4(regs);
	id = id * ID_FACTOR + READ(CAST(task_struct, l->task), ioac.syscr);
	return id | 2;
}

static __always_inline bool advice_is_new(struct live *l, struct inode *inode)
{
	return l->s.advice_id != (advice_id(l) ^ READ(inode, i_ino));
}

static __always_inline __u32 advice_origin(struct live *l)
{
	__u64 regs = l->regs;

	return l->regs && REGS_NR(regs) == NR_readahead ? C_prefetched_readahead2
							: C_prefetched_willneed;
}

static const struct advice_row zero_advice = {.begin_bytes = ~0ull};

static __noinline struct advice_row *advice_row_of(struct live *l, struct inode *inode, __u32 kind,
						   __u32 call)
{
	struct advice_key key = {.job = own_slot(l->s.job), .kind = kind, .call = call};
	struct advice_row *row;

	file_key_of(inode, &key.file);
	row = bpf_map_lookup_elem(&advice, &key);
	if (row)
		return row;
	/* Also fails if another CPU was faster. */
	bpf_map_update_elem(&advice, &key, &zero_advice, BPF_NOEXIST);
	row = bpf_map_lookup_elem(&advice, &key);
	if (!row)
		__sync_fetch_and_add(&shared.losses.advice_full, 1);
	return row;
}

/* Counts one more call, and its range. */
static __always_inline void advice_count(struct advice_row *row, struct inode *inode,
					 struct advice_ask *a)
{
	__u64 end = a->end, page = 1ull << page_shift, size = READ(inode, i_size);

	__sync_fetch_and_add(&row->calls, 1);
	if (!a->range)
		return;
	advice_range_add(row, advice_range_lock(inode) ^ a->kind, a->begin, end);
	if (end > size)
		end = size;
	if (end > a->begin)
		__sync_fetch_and_add(&row->pages_asked,
				     ((end + page - 1) >> page_shift) - (a->begin >> page_shift));
}

/* Verified separately, because its paths would multiply with those of its callers. */
GLOBAL int trace_advised(struct live *l, __u64 inode_addr, __u64 what, __u64 begin, __u64 bytes)
{
	struct inode *inode = CAST(inode, inode_addr);

	if (!l)
		return 0;
	l->note.file = 0;
	trace_file_of_call(l, inode);
	trace_send(l, inode_addr, what, begin, bytes);
	return 0;
}

/* A call that is not in the traces yet. */
static __always_inline void trace_advice(struct live *l, struct inode *inode, struct advice_ask *a)
{
	__u64 id = advice_id(l) ^ READ(inode, i_ino);

	if (!a->kind || !a->range)
		return;
	l->s.trace_advice = id;
	l->s.flags |= TASK_DIRTY;
	trace_advised(l, addr_of(l, inode),
		      NOTE(NOTE_ADVICE, a->kind, 0, 0) | NOTE_CALL((__u64)a->call), a->begin,
		      a->end == ~0ull ? 0 : a->end - a->begin);
}

static __always_inline void trace_advice_now(struct live *l, struct inode *inode)
{
	struct advice_ask a;

	if (l->s.trace_advice != (advice_id(l) ^ READ(inode, i_ino)) && advice_find(l, &a))
		trace_advice(l, inode, &a);
}

/* Counts pages that the current advice call brought in or dropped. own: those of the job. Returns
 * the adviser; 0: the call brings in no pages for the job. */
GLOBAL int advice_effect(struct live *l, __u64 inode_addr, __u64 brought, __u64 dropped, __u64 own)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct advice_row *row;
	struct task_state *s;
	struct advice_ask a;
	__u64 id;

	if (!l || l->s.job == JOB_OTHERS)
		return 0;
	s = &l->s;
	id = advice_id(l) ^ READ(inode, i_ino);
	a.kind = s->advice_kind;
	a.call = s->advice_call;
	/* Another page of the same call, whose kind is known. */
	if (id == s->advice_id && a.kind &&
	    (!dropped || s->trace_advice == id || !trace_may(inode))) {
		row = advice_row_of(l, inode, a.kind, a.call);
	} else {
		if (!advice_find(l, &a))
			return 0;
		s->advice_kind = a.kind;
		s->advice_call = a.call;
		if (!a.kind)
			a.kind = brought ? ADVICE_WILLNEED : ADVICE_DONTNEED;
		row_name_below(l, inode, CAST(file, a.file));
		row = advice_row_of(l, inode, a.kind, a.call);
		/* The entry of a call does not show ranges that are in a vector. */
		if (row && !(config.advice_by_calls && a.range) && id != s->advice_id)
			advice_count(row, inode, &a);
		s->advice_id = id;
		s->flags |= TASK_DIRTY;
		if (dropped && s->trace_advice != id && trace_may(inode))
			trace_advice(l, inode, &a);
	}
	if (!row)
		return 0;
	if (brought)
		__sync_fetch_and_add(&row->pages_brought, brought);
	if (dropped)
		__sync_fetch_and_add(&row->pages_dropped, dropped);
	if (own)
		__sync_fetch_and_add(&row->dropped_own, own);
	if (a.kind == ADVICE_READAHEAD)
		return ADVISER_READAHEAD;
	if (a.kind != ADVICE_WILLNEED)
		return 0;
	return a.call == CALL_MADVISE ? ADVISER_MADVISE : ADVISER_FADVISE;
}

/* Lasting advice, seen when the kernel plans a window. */
static __always_inline void advice_standing(struct live *l, struct inode *inode, struct file *file,
					    struct file_ra_state *ra)
{
	unsigned long bdi = READ(inode, i_sb, s_bdi, ra_pages);

	if (READ(file, f_mode) & FMODE_RANDOM)
		advice_row_of(l, inode, ADVICE_RANDOM, CALL_FADVISE);
	else if (bdi && READ(ra, ra_pages) == 2 * bdi)
		advice_row_of(l, inode, ADVICE_SEQUENTIAL, CALL_FADVISE);
	if (READ(file, f_mode) & FMODE_NOREUSE)
		advice_row_of(l, inode, ADVICE_NOREUSE, CALL_FADVISE);
}

#endif
