/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts pages that enter or leave the cache, folio_added() and folio_deleted(), with atomic
 * operations that return the old value. The state of a folio's pages changes one chunk at a time,
 * and the CPU that changed it counts.
 */
#ifndef FULL_PAGES_BPF_H
#define FULL_PAGES_BPF_H

#include "bpf/full/evictors.bpf.h"
#include "bpf/full/page_state.bpf.h"
#include "bpf/full/references.bpf.h"
#include "bpf/roles/adds.bpf.h"
#include "bpf/roles/advice.bpf.h"
#include "bpf/roles/calls.bpf.h"
#include "bpf/roles/causes.bpf.h"

struct add_ctx {
	struct file_row *row;
	struct file_key file;
	struct page_range r;
	__u64 lo, hi;
	bool ahead; /* pages that were not requested are prefetched */
	bool by_read;
	__u32 adviser;
	__u32 job;
};

STEP add_step(__u32 i, struct add_ctx *x)
{
	__u64 base = (x->r.first & ~63ull) + (__u64)i * 64, all, asked = 0;

	all = chunk_mask(base, x->r.first, x->r.last);
	if (x->lo <= x->hi)
		asked = all & chunk_mask(base, x->lo, x->hi);
	chunk_added(x->row, &x->file, base, all, x->ahead ? all & ~asked : 0,
		    x->by_read ? asked : 0, x->adviser, x->job);
	return 0;
}

GLOBAL int add_track(__u64 inode, struct file_row *row, struct page_range *r, struct added *a,
		     __u32 job)
{
	struct add_ctx x = {.row = row, .job = job};
	__u64 nr;

	if (!row || !r || !a)
		return 0;
	file_key_of(CAST(inode, inode), &x.file);
	x.r = *r;
	x.lo = a->lo;
	x.hi = a->hi;
	x.ahead = a->origin;
	x.by_read = a->by_read;
	/* With many jobs, no block remembers its advice. */
	x.adviser = many_jobs() ? 0 : a->adviser;
	nr = (r->last >> 6) - (r->first >> 6) + 1;
	if (nr == 1)
		add_step(0, &x);
	else
		LOOP(nr, nr, add_step, &x);
	return 0;
}

struct returned_ctx {
	struct file_key file;
	struct page_range r;
};

/* Others fetched pages that the job's advice had dropped; they stay ghosts of the job. */
STEP returned_step(__u32 i, struct returned_ctx *x)
{
	__u64 base = (x->r.first & ~63ull) + (__u64)i * 64, dropped;
	struct block *b = block_find(&x->file, base);
	struct chunk *c;

	if (!b)
		return 0;
	c = chunk_in(b, base);
	dropped = c->advised & c->mark & ~c->resident & chunk_mask(base, x->r.first, x->r.last);
	if (!dropped)
		return 0;
	dropped &= bits_clear(&c->advised, dropped);
	advice_regret(&x->file, popcount64(dropped), true);
	return 0;
}

GLOBAL int returned_to_others(__u64 inode, struct page_range *r)
{
	struct returned_ctx x;
	__u64 nr;

	if (!r)
		return 0;
	file_key_of(CAST(inode, inode), &x.file);
	x.r = *r;
	nr = (r->last >> 6) - (r->first >> 6) + 1;
	if (nr == 1)
		returned_step(0, &x);
	else
		LOOP(nr, nr, returned_step, &x);
	return 0;
}

#define SQUASHFS_MAGIC 0x73717368

/* A read that ends in the file's last page may pass the hook without an event, so the use of its
 * prefetched pages is unknown. If the hook is a function, it sees each read. */
static __always_inline bool reads_unseen(struct inode *inode)
{
	return !config.reads_by_call && READ(inode, i_sb, s_magic) == SQUASHFS_MAGIC;
}

/* The pages of a folio that a call requested: from *ret_lo. */
static __always_inline __u64 asked_of(const struct page_range *r, const struct added *a,
				      __u64 *ret_lo)
{
	__u64 lo = a->lo > r->first ? a->lo : r->first, hi = a->hi < r->last ? a->hi : r->last;

	*ret_lo = lo;
	return a->lo <= a->hi && lo <= hi ? hi - lo + 1 : 0;
}

static __always_inline int folio_added(struct live *l, struct folio *folio)
{
	struct page_range r;
	struct file_row *row;
	struct inode *inode;
	struct added a;
	__u64 nr, inode_addr, lo, asked = 0;
	bool due = false;
	__s64 refaults;

	inode = READ(folio_mapping(folio), host);
	if (!inode_counts(inode))
		return 0;
	r = folio_range(folio);
	nr = r.last - r.first + 1;
	inode_addr = addr_of(l, inode);
	add_class(l, inode_addr, &r, &a);
	row = live_row(l, inode,
		       a.by_read || a.by_advice || a.counter == C_written_pages ? HINT_OWN : 0,
		       l->s.job);
	if (a.origin) {
		asked = asked_of(&r, &a, &lo);
		if (asked)
			row_add(row, C_demand_pages, asked);
		if (a.by_read && asked) {
			due = call_is_due(l, inode_addr);
			if (due)
				call_misses(l, lo, asked);
			else
				row_add(row, C_misses, asked);
			if (lo < l->s.miss_first)
				l->s.miss_first = lo;
			if (lo + asked - 1 > l->s.miss_last)
				l->s.miss_last = lo + asked - 1;
		}
		if (nr > asked)
			row_add(row, a.origin, nr - asked);
		if (l->s.win_inode == (__u64)inode)
			window_grow(l, row, nr);
		if (a.by_advice)
			a.adviser = advice_effect(l, addr_of(l, inode), nr, 0, 0);
	} else {
		row_add(row, a.counter, nr);
	}
	l->s.flags |= TASK_DIRTY;
	if (trace_may(inode))
		trace_folio(l, inode_addr,
			    NOTE(NOTE_ADD, 0, 0,
				 !a.origin && a.counter == C_written_pages ? NOTE_BY_WRITE : 0),
			    r.first, nr);
	if (l->s.job == JOB_OTHERS && !many_jobs()) {
		adder_note(l, nr, a.counter == C_written_pages ? DOES_WRITE : DOES_READ);
		if (a.origin && *used_files_slot(READ(inode, i_ino)))
			returned_to_others(inode_addr, &r);
	}
	if (l->s.job != JOB_OTHERS) {
		refaults = due && row ? row->c[C_refault_misses] : 0;
		add_track(inode_addr, row, &r, &a, l->s.job);
		if (due && row) {
			l->s.due_refaults += row->c[C_refault_misses] - refaults;
			row->c[C_refault_misses] = refaults;
		}
		if (mapped_unseen(l, &a, &r) || (nr > asked && reads_unseen(inode)))
			settle(l, addr_of(l, inode), r.first, r.last, C_untracked);
	}
	return 0;
}

/* In a map's memory, because the stack frames of a delete's callees are too large together. */
struct deleted {
	__u64 inode;
	struct file_key file;
	struct page_range r;
	enum evict_cause cause;
	__u32 by_advice; /* the job's own advice dropped the pages */
	__u32 used;	 /* the job uses the file: all evicted pages count for it */
	__u32 given_back;
	__u64 own;  /* pages that count for a job */
	__u64 mine; /* many jobs: for the running task's job */
};
_Static_assert(sizeof(struct deleted) <= sizeof(struct work), "deleted");

/* Updates the state of these pages, which were removed; added: those that the job had added. */
static __always_inline void chunk_left(struct deleted *d, struct file_row *row, struct block *b,
				       __u64 base, __u64 left, __u64 added)
{
	struct chunk *c = chunk_in(b, base);

	if (added)
		chunk_settle(&d->file, row, b, base, added, C_evicted_unused);
	if (c->advised & left)
		bits_clear(&c->advised, left);
	if (d->by_advice)
		bits_set(&c->advised, left);
	if (d->cause == EVICT_TRUNCATE) {
		bits_clear(&c->mark, left);
	} else {
		bits_set(&c->mark, left);
		c->stamp_pages = shared.evicted_pages;
		c->stamp_ms = now_ms();
	}
}

/* Updates the state of the removed pages in the chunk that starts at page base. */
GLOBAL int delete_track(struct live *l, struct deleted *d, __u64 base)
{
	__u64 mask, left, added = 0;
	struct file_row *row;
	struct block *b;
	struct chunk *c;
	int n;

	if (!l || !d)
		return 0;
	mask = chunk_mask(base, d->r.first, d->r.last);
	/* A ghost of a page without a block needs one. */
	b = d->used && !d->given_back && d->cause != EVICT_TRUNCATE
		    ? block_take(&d->file, base, JOB_WATCHED)
		    : block_find(&d->file, base);
	if (b) {
		c = chunk_in(b, base);
		if (c->resident & mask)
			added = bits_clear(&c->resident, mask) & mask;
	}
	left = d->used && !d->given_back ? mask : added;
	n = popcount64(left);
	if (!n)
		return 0;
	row = live_row(l, CAST(inode, d->inode), 0, JOB_WATCHED);
	if (d->given_back) {
		if (b)
			row_add(row, C_evicted_unused,
				-chunk_settle(&d->file, row, b, base, added, C_evicted_unused));
		return 0;
	}
	row_add(row, C_evicted_reclaim_kswapd + d->cause, n);
	row_add(row, C_evicted_not_added, popcount64(left & ~added));
	__sync_fetch_and_add(
		d->cause == EVICT_TRUNCATE ? &shared.truncated_pages : &shared.evicted_pages, n);
	d->own += n;
	if (b)
		chunk_left(d, row, b, base, left, added);
	else if (d->cause != EVICT_TRUNCATE)
		__sync_fetch_and_add(&shared.losses.ghosts_dropped, n);
	return 0;
}

struct delete_ctx {
	struct live *l;
	struct deleted *d;
};

STEP delete_step(__u32 i, struct delete_ctx *x)
{
	delete_track(x->l, x->d, (x->d->r.first & ~63ull) + (__u64)i * 64);
	return 0;
}

/* Pages without an owner left, of a file that this job uses, or that its advice dropped. */
GLOBAL int owner_gets_rest(struct owners_work *w)
{
	__u32 job;
	__u64 left;
	struct file_row *row;
	struct block *b = NULL;
	bool made = false;

	if (!w)
		return 0;
	job = w->user;
	left = chunk_mask(w->base, w->first, w->last) & ~w->seen;
	if (!left)
		return 0;
	row = shared_row(&w->file, job & JOB_SLOT, w->epoch, &made);
	if (w->cause != EVICT_TRUNCATE)
		b = owner_take(&w->file, w->base, job);
	owner_left(w, row, b, left, 0, job);
	return 0;
}

STEP owners_left_step(__u32 i, struct owners_work **work)
{
	struct owners_work *w = *work;

	if (!owners_next(w))
		return 0;
	if (w->user)
		owner_gets_rest(w);
	chunk_begin(w, w->base + 64);
	return w->base > w->last;
}

/* With many jobs: the removed pages count for their owners. */
GLOBAL int owners_left(struct live *l, struct deleted *d)
{
	struct owners_work *w = work_of(WORK_SETTLE);

	if (!l || !d || !w)
		return 0;
	d->mine = 0;
	if (!d->by_advice && !*used_files_slot(d->file.ino))
		return 0;
	w->file = d->file;
	w->first = d->r.first;
	w->last = d->r.last;
	w->fate = C_evicted_unused;
	w->leaves = 1;
	w->cause = d->cause;
	w->given_back = d->given_back;
	w->job = l->s.job;
	w->epoch = l->epoch;
	w->own = w->mine = 0;
	w->user = JOB_OTHERS;
	if (!d->given_back)
		w->user = d->by_advice ? l->s.job : file_used_by(CAST(inode, d->inode), &d->file);
	chunk_begin(w, w->first & ~63ull);
	bpf_loop(OWNERS_STEPS, owners_left_step, &w, 0);
	d->own = w->own;
	d->mine = w->mine;
	return 0;
}

/*
 * Readahead adds folios before it knows whether the filesystem will read them, and removes the ones
 * that it did not: for inline data of ext4 all, for FUSE what exceeds a request. They held no data
 * of the file, so they were not missed, prefetched or evicted. (Advice did bring them in.)
 */
static __always_inline bool readahead_gives_back(struct live *l, __u64 inode)
{
	struct task_struct *t = CAST(task_struct, l->task);
	struct task_state *s = &l->s;

	return s->win_inode == inode && s->win_lo <= s->win_hi &&
	       s->win_id ==
		       (s->win_kind & WIN_IN_FAULT ? fault_clock(t) : (__u64)READ(t, ioac.syscr));
}

GLOBAL int add_undo(struct live *l, struct file_row *row, struct deleted *d)
{
	struct added a;
	__u64 pages, asked, lo;

	if (!l || !d)
		return 0;
	pages = d->r.last - d->r.first + 1;
	add_class(l, d->inode, &d->r, &a);
	asked = asked_of(&d->r, &a, &lo);
	row_add(row, C_demand_pages, -asked);
	if (a.by_read && call_is_due(l, d->inode)) {
		l->s.due_misses -= asked;
		l->s.due_missed &= ~call_pages(&l->s, lo, asked);
	} else if (a.by_read) {
		row_add(row, C_misses, -asked);
	}
	row_add(row, a.origin, asked - pages);
	if (mapped_unseen(l, &a, &d->r))
		row_add(row, C_untracked, asked - pages);
	window_grow(l, row, -pages);
	l->s.flags |= TASK_DIRTY;
	return 0;
}

static __always_inline int folio_deleted(struct live *l, void *ctx, struct folio *folio)
{
	struct deleted *d = work_of(WORK_PAGE);
	struct delete_ctx x = {.l = l, .d = d};
	struct inode *inode;
	struct file_row *row;
	__u64 pages, steps;

	inode = READ(folio_mapping(folio), host);
	if (!d || !inode_counts(inode))
		return 0;
	/* The task's earlier reads are counted before the pages that leave now. */
	if (l->s.due_bytes)
		call_finish(l, READ(CAST(task_struct, l->task), ioac.syscr));
	d->inode = (__u64)inode;
	d->r = folio_range(folio);
	d->cause = cause_of(l, ctx, inode, d->r.first, l->s.reclaim);
	d->by_advice = d->cause == EVICT_DONTNEED && l->s.job != JOB_OTHERS;
	d->given_back = d->cause == EVICT_OTHER && readahead_gives_back(l, d->inode);
	file_key_of(inode, &d->file);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(d->file.ino)], OUTSTANDING_ADD);
	if (!d->given_back)
		references_left(&d->file, d->r.first, d->r.last, d->cause, l->epoch);
	pages = d->r.last - d->r.first + 1;
	if (trace_may(inode))
		trace_folio(l, addr_of(l, inode), NOTE(NOTE_REMOVE, d->cause, 0, 0), d->r.first,
			    pages);
	d->own = 0;
	if (many_jobs()) {
		owners_left(l, d);
	} else if (d->by_advice || *used_files_slot(d->file.ino)) {
		d->used = d->by_advice || file_used_by(inode, &d->file) != JOB_OTHERS;
		steps = (d->r.last >> 6) - (d->r.first >> 6) + 1;
		if (steps == 1)
			delete_track(l, d, d->r.first & ~63ull);
		else
			LOOP(steps, steps, delete_step, &x);
	}
	if (d->given_back)
		return add_undo(l, live_row(l, inode, 0, l->s.job), d);
	if (d->own && !many_jobs())
		evictor_note(l, &d->file, d->cause, d->own);
	if (pages > d->own) {
		row = live_row(l, inode, 0, JOB_OTHERS);
		row_add(row, C_evicted_reclaim_kswapd + d->cause, pages - d->own);
	}
	if (d->cause == EVICT_DONTNEED)
		advice_effect(l, addr_of(l, inode), 0, pages, many_jobs() ? d->mine : d->own);
	return 0;
}

#endif
