// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages entering and leaving the cache: the events every exact figure stands on. An add is classed
 * by what its task is doing (window, fault, advice, write); a delete is charged to the page's
 * owner, never to current, and who caused it is a second fact.
 */
#include "chunks.bpf.h"
#include "causes.bpf.h"
#include "advice.bpf.h"

static __always_inline struct page_range folio_range(struct folio *f)
{
	__u64 first = folio_index(f);

	return (struct page_range){first, first + folio_pages(f) - 1};
}

/* How an add is classed: pages lo..hi were asked for, the others came ahead. */
struct added {
	__u64 lo, hi;
	__u32 origin;  /* prefetched_* counter of the others; 0: none are prefetched */
	__u32 counter; /* for adds that are neither: written or other */
	bool by_read;  /* what was asked for was missed by a read call */
	bool by_fault;
	bool by_advice;
};

static __always_inline bool nr_writes(long nr)
{
	return nr == NR_write || nr == NR_pwrite64 || nr == NR_writev || nr == NR_pwritev ||
	       nr == NR_pwritev2 || nr == NR_sendfile || nr == NR_splice ||
	       nr == NR_copy_file_range || nr == NR_fallocate || nr == NR_io_uring_enter ||
	       nr == NR_io_submit;
}

static __always_inline bool nr_advises(long nr)
{
	return nr == NR_fadvise64 || nr == NR_madvise || nr == NR_readahead ||
	       nr == NR_io_uring_enter;
}

GLOBAL int add_class(struct live *l, __u64 inode_addr, struct page_range *r, struct added *a)
{
	struct inode *inode = CAST(inode, inode_addr);
	struct task_struct *t;
	struct pt_regs *regs;
	struct task_state *s;
	bool fault, win_fault;
	__u64 syscr;
	long nr;

	if (!l || !r || !a)
		return 0;
	t = CAST(task_struct, l->task);
	regs = CAST(pt_regs, l->regs);
	s = &l->s;
	nr = l->regs ? REGS_NR(regs) : NR_io_uring_enter;
	fault = s->fault_inode == inode_addr && s->fault_id == fault_clock(t);
	win_fault = s->win_kind & WIN_IN_FAULT;
	*a = (struct added){.lo = 1, .hi = 0, .counter = C_other_added_pages};
	syscr = READ(t, ioac.syscr);
	/* Two loads: one of either pointer is what older verifiers refuse. */
	if (s->win_inode == inode_addr && win_fault == fault &&
	    ((fault && s->win_id == s->fault_id) || (!fault && s->win_id == syscr))) {
		a->by_advice = s->win_lo > s->win_hi;
		if (!a->by_advice || nr_advises(nr)) {
			a->lo = s->win_lo;
			a->hi = s->win_hi;
			a->origin = s->win_origin;
			a->by_read = !fault;
			a->by_fault = fault;
			return 0;
		}
		a->by_advice = false;
	}
	if (fault && r->first <= s->fault_index && s->fault_index <= r->last) {
		/* MADV_RANDOM or read-around switched off: the page alone, without a window. */
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

#ifdef CACHEMON_BASIC
/* The position of its highest bit, 15 at most: without a branch, each of which verifiers follow. */
static __always_inline __u32 log2_bucket(__u64 n)
{
	for (int by = 1; by < 64; by *= 2)
		n |= n >> by;
	return popcount64((n & 0xffff) | 1) - 1;
}
#else
static __always_inline __u32 log2_bucket(__u64 n)
{
	__u32 b = 0;

	for (int i = 0; i < 15; i++) {
		n >>= 1;
		if (!n)
			break;
		b++;
	}
	return b;
}
#endif

/* The window grew: it moves from one histogram bucket to the next as its pages arrive, so the
 * histogram is right at any moment and needs no end of a window, which no event tells. */
GLOBAL int window_grow(struct live *l, struct file_row *row, __u64 pages)
{
	__u32 from, to, kind;
	__u64 before, after;
	struct task_state *s;

	if (!l || !row)
		return 0;
	s = &l->s;
	before = s->win_pages;
	after = before + pages;
	from = log2_bucket(before);
	to = log2_bucket(after);
	kind = s->win_kind & WIN_KIND;
	s->win_pages = after;
	if (!before) {
		row_add(row,
			kind == WIN_SYNC    ? C_windows_sync
			: kind == WIN_ASYNC ? C_windows_async
					    : C_windows_forced,
			1);
		row_add(row, C_window_log2_0 + to, 1);
	} else if (from != to) {
		row_add(row, C_window_log2_0 + from, -1);
		row_add(row, C_window_log2_0 + to, 1);
	}
	return 0;
}

#ifdef CACHEMON_BASIC
#include "pages_locked.bpf.h"
#else
struct add_ctx {
	struct file_row *row;
	struct file_key file;
	struct page_range r;
	__u64 lo, hi;
	bool ahead; /* what was not asked for is prefetched */
	bool by_read;
};

STEP add_step(__u32 i, struct add_ctx *x)
{
	__u64 base = (x->r.first & ~63ull) + (__u64)i * 64, all, asked = 0;

	all = chunk_mask(base, x->r.first, x->r.last);
	if (x->lo <= x->hi)
		asked = all & chunk_mask(base, x->lo, x->hi);
	chunk_added(x->row, &x->file, base, all, x->ahead ? all & ~asked : 0,
		    x->by_read ? asked : 0);
	return 0;
}

GLOBAL int add_track(__u64 inode, struct file_row *row, struct page_range *r, struct added *a)
{
	struct add_ctx x = {.row = row};
	__u64 nr;

	if (!row || !r || !a)
		return 0;
	file_key_of(CAST(inode, inode), &x.file);
	x.r = *r;
	x.lo = a->lo;
	x.hi = a->hi;
	x.ahead = a->origin;
	x.by_read = a->by_read;
	nr = (r->last >> 6) - (r->first >> 6) + 1;
	if (nr == 1)
		add_step(0, &x);
	else
		LOOP(nr, nr, add_step, &x);
	return 0;
}

static __always_inline int added(struct live *l, struct folio *folio)
{
	struct page_range r;
	struct file_row *row;
	struct inode *inode;
	struct added a;
	__u64 nr, inode_addr, asked = 0;

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
		__u64 lo = a.lo > r.first ? a.lo : r.first, hi = a.hi < r.last ? a.hi : r.last;

		if (a.lo <= a.hi && lo <= hi)
			asked = hi - lo + 1;
		if (asked)
			row_add(row, C_demand_pages, asked);
		if (a.by_read && asked) {
			row_add(row, C_misses, asked);
			if (lo < l->s.miss_first)
				l->s.miss_first = lo;
			if (hi > l->s.miss_last)
				l->s.miss_last = hi;
		}
		if (nr > asked)
			row_add(row, a.origin, nr - asked);
		if (l->s.win_inode == (__u64)inode)
			window_grow(l, row, nr);
		if (a.by_advice)
			advice_effect(l, addr_of(l, inode), nr, 0);
	} else {
		row_add(row, a.counter, nr);
	}
	l->s.flags |= TASK_DIRTY;
	if (l->s.job == JOB_WATCHED) {
		add_track(inode_addr, row, &r, &a);
		/* A fault maps the whole folio: use of its other pages cannot be seen. */
		if (a.by_fault && r.first != r.last && r.first <= l->s.fault_index &&
		    l->s.fault_index <= r.last)
			settle(l, addr_of(l, inode), r.first, r.last, C_untracked);
	}
	return 0;
}

struct deleted {
	__u64 inode;
	struct file_key file;
	struct page_range r;
	enum evict_cause cause;
	__u32 pad;
	__u64 own; /* pages of the job among them */
};

/* Those in the chunk at page base. */
GLOBAL int delete_track(struct live *l, struct deleted *d, __u64 base)
{
	__u64 mask, own;
	struct file_row *row;
	struct block *b;
	struct chunk *c;
	int n;

	if (!l || !d)
		return 0;
	mask = chunk_mask(base, d->r.first, d->r.last);
	b = block_find(&d->file, base);
	if (!b)
		return 0;
	c = chunk_in(b, base);
	if (!(c->resident & mask))
		return 0;
	own = bits_clear(&c->resident, mask) & mask;
	n = popcount64(own);
	if (!n)
		return 0;
	row = live_row(l, CAST(inode, d->inode), 0, JOB_WATCHED);
	row_add(row, C_evicted_reclaim_kswapd + d->cause, n);
	chunk_settle(d->file.ino, row, b, c, own, C_evicted_unused);
	if (d->cause == EVICT_TRUNCATE) {
		bits_clear(&c->mark, own);
		__sync_fetch_and_add(&shared.truncated_pages, n);
	} else {
		bits_set(&c->mark, own);
		c->stamp_pages = __sync_fetch_and_add(&shared.evicted_pages, n) + n;
		c->stamp_ms = now_ms();
	}
	d->own += n;
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

static __always_inline int deleted(struct live *l, void *ctx, struct folio *folio)
{
	struct deleted d = {};
	struct delete_ctx x = {.l = l, .d = &d};
	struct inode *inode;
	struct file_row *row;
	__u64 pages, steps;

	inode = READ(folio_mapping(folio), host);
	if (!inode_counts(inode))
		return 0;
	d.inode = (__u64)inode;
	d.r = folio_range(folio);
	d.cause = cause_of(l, ctx, inode, d.r.first, l->s.reclaim);
	file_key_of(inode, &d.file);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(d.file.ino)], OUTSTANDING_ADD);
	pages = d.r.last - d.r.first + 1;
	steps = (d.r.last >> 6) - (d.r.first >> 6) + 1;
	if (steps == 1)
		delete_track(l, &d, d.r.first & ~63ull);
	else
		LOOP(steps, steps, delete_step, &x);
	if (pages > d.own) {
		row = live_row(l, inode, 0, JOB_OTHERS);
		row_add(row, C_evicted_reclaim_kswapd + d.cause, pages - d.own);
	}
	/* The last of a file that the job only read goes with the inode: no later look at its name
	 * can tell. */
	if (!d.own && !READ(inode, i_nlink) && bpf_map_lookup_elem(&named, &d.file))
		live_row(l, inode, 0, JOB_WATCHED);
	if (d.cause == EVICT_DONTNEED)
		advice_effect(l, addr_of(l, inode), 0, pages);
	return 0;
}
#endif

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(page_add_tp, struct folio *folio)
{
	return WITH_LIVE(l, EV_ADD, added(l, folio));
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(page_delete_tp, struct folio *folio)
{
	return WITH_LIVE(l, EV_DELETE, deleted(l, ctx, folio));
}

/* Reclaim scopes: what is deleted inside them is charged to them. */
static __always_inline int reclaim_set(__u32 scope)
{
	return WITH_LIVE(l, EV_DELETE, l->s.reclaim = scope);
}

SEC("?tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(dreclaim_in_tp)
{
	return reclaim_set(RECLAIM_DIRECT);
}

SEC("?tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(dreclaim_out_tp)
{
	return reclaim_set(RECLAIM_NONE);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(mreclaim_in_tp)
{
	return reclaim_set(RECLAIM_MEMCG);
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(mreclaim_out_tp)
{
	return reclaim_set(RECLAIM_NONE);
}
