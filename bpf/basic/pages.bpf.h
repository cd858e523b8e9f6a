/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts pages that enter or leave the cache, like full/pages.bpf.h, for verifiers that track each
 * value on the stack. Results go to map memory, which these verifiers do not track. The row comes
 * last: it is from one of two maps, or NULL. The counts are the same.
 */
#ifndef BASIC_PAGES_BPF_H
#define BASIC_PAGES_BPF_H

#include "bpf/basic/page_state.bpf.h"
#include "bpf/roles/adds.bpf.h"
#include "bpf/roles/advice.bpf.h"
#include "bpf/roles/causes.bpf.h"

/* The arguments of an add. */
struct page_work {
	struct added a;
	struct page_range r;
	__u64 pages, asked;
};
_Static_assert(sizeof(struct page_work) <= sizeof(struct work), "page_work");

static __noinline int page_track(struct inode *inode, struct page_work *p, struct block_add *b)
{
	struct file_key file;

	b->first = p->r.first;
	b->last = p->r.last;
	b->lo = p->a.lo;
	b->hi = p->a.hi;
	b->ahead = p->a.origin ? ~0ull : 0;
	b->missed = p->a.by_read ? ~0ull : 0;
	file_key_of(inode, &file);
	return blocks_enter(&file, b);
}

/* The added pages that were requested: a call that requested them missed them. */
static __noinline int page_asked(struct live *l, struct page_work *p)
{
	struct added *a = &p->a;
	__u64 lo = a->lo > p->r.first ? a->lo : p->r.first;
	__u64 hi = a->hi < p->r.last ? a->hi : p->r.last;

	p->asked = 0;
	p->pages = p->r.last - p->r.first + 1;
	if (!a->origin || a->lo > a->hi || lo > hi)
		return 0;
	p->asked = hi - lo + 1;
	if (!a->by_read)
		return 0;
	if (lo < l->s.miss_first)
		l->s.miss_first = lo;
	if (hi > l->s.miss_last)
		l->s.miss_last = hi;
	return 0;
}

static __noinline int page_count(struct live *l, struct inode *inode, struct page_work *p,
				 struct block_add *b)
{
	struct added *a = &p->a;
	bool own = a->by_read || a->by_advice || a->counter == C_written_pages;
	struct file_row *row = live_row(l, inode, own ? HINT_OWN : 0, l->s.job);

	if (a->origin) {
		row_add(row, C_demand_pages, p->asked);
		if (a->by_read && p->asked && call_is_due(l, (__u64)inode))
			call_misses(l, a->lo > p->r.first ? a->lo : p->r.first, p->asked);
		else if (a->by_read)
			row_add(row, C_misses, p->asked);
		row_add(row, a->origin, p->pages - p->asked);
		if (l->s.win_inode == (__u64)inode)
			window_grow(l, row, p->pages);
	} else {
		row_add(row, a->counter, p->pages);
	}
	if (l->s.job == JOB_WATCHED)
		blocks_entered(row, READ(inode, i_ino), b);
	return 0;
}

/* Before 5.12 a read that begins after the end of the file adds a page there before it checks the
 * size. The page holds no data of the file and does not count. */
static __noinline int page_is_stray(struct inode *inode, struct page_work *p)
{
	return p->a.by_read && p->r.first << page_shift >= (__u64)READ(inode, i_size);
}

static __noinline int page_added(struct live *l, struct inode *inode, struct page_work *p)
{
	struct block_add *b = work_of(WORK_BLOCK);

	if (!b)
		return 0;
	add_class(l, (__u64)inode, &p->r, &p->a);
	if (page_is_stray(inode, p))
		return 0;
	page_asked(l, p);
	l->s.flags |= TASK_DIRTY;
	if (l->s.job == JOB_WATCHED)
		page_track(inode, p, b);
	page_count(l, inode, p, b);
	if (p->a.by_advice)
		advice_effect(l, (__u64)inode, p->pages, 0, 0);
	if (l->s.job == JOB_WATCHED && mapped_unseen(l, &p->a, &p->r))
		settle(l, (__u64)inode, p->r.first, p->r.last, C_untracked);
	return 0;
}

static __always_inline int folio_added(struct live *l, struct folio *folio)
{
	struct page_work *p = work_of(WORK_PAGE);
	struct inode *inode = READ(folio_mapping(folio), host);

	if (!p || !inode_counts(inode))
		return 0;
	p->r = folio_range(folio);
	page_added(l, inode, p);
	settle_asked_once(l);
	return 0;
}

struct deleted {
	__u64 cause;
	struct page_range r;
	struct block_left left;
};
_Static_assert(sizeof(struct deleted) <= sizeof(struct work), "deleted");

static __noinline int delete_own(struct live *l, struct inode *inode, struct deleted *d)
{
	struct file_row *row;

	if (!d->left.nr)
		return 0;
	if (d->cause == EVICT_TRUNCATE)
		__sync_fetch_and_add(&shared.truncated_pages, d->left.nr);
	else
		__sync_fetch_and_add(&shared.evicted_pages, d->left.nr);
	row = live_row(l, inode, 0, JOB_WATCHED);
	row_add(row, C_evicted_reclaim_kswapd + d->cause, d->left.nr);
	row_add(row, C_evicted_not_added, d->left.nr - d->left.added);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(READ(inode, i_ino))],
			     -d->left.open);
	row_add(row, C_resident_unused, -d->left.open);
	row_add(row, C_evicted_unused, d->left.open);
	return 0;
}

static __noinline int delete_others(struct live *l, struct inode *inode, struct deleted *d)
{
	__u64 others = d->r.last - d->r.first + 1 - d->left.nr;
	struct file_row *row;

	if (!others)
		return 0;
	row = live_row(l, inode, 0, JOB_OTHERS);
	row_add(row, C_evicted_reclaim_kswapd + d->cause, others);
	return 0;
}

static __noinline int page_deleted(struct live *l, struct inode *inode, struct deleted *d)
{
	struct file_key file;

	file_key_of(inode, &file);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(file.ino)], OUTSTANDING_ADD);
	d->left.nr = 0;
	if (!*used_files_slot(file.ino))
		return 0;
	d->left.all = file_used_by(inode, &file) ? ~0ull : 0;
	d->left.ghosts = d->cause == EVICT_TRUNCATE ? 0 : ~0ull;
	return blocks_leave(&file, &d->r, &d->left);
}

static __always_inline int folio_deleted(struct live *l, void *ctx, struct folio *folio)
{
	struct deleted *d = work_of(WORK_PAGE);
	struct inode *inode = READ(folio_mapping(folio), host);

	if (!d || !inode_counts(inode))
		return 0;
	d->r = folio_range(folio);
	d->cause = cause_of(l, ctx, inode, d->r.first, l->s.reclaim);
	page_deleted(l, inode, d);
	delete_own(l, inode, d);
	delete_others(l, inode, d);
	if (d->cause == EVICT_DONTNEED)
		advice_effect(l, (__u64)inode, 0, d->r.last - d->r.first + 1, 0);
	return 0;
}

#endif
