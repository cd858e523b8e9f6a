/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of the job's pages. Owns every transition of struct chunk and the counters that follow
 * from it. Each transition is one atomic operation on one word, and the operation that clears a
 * page's bit also counts it. So CPUs may race and the conservation law still holds.
 */
#ifndef FULL_PAGE_STATE_BPF_H
#define FULL_PAGE_STATE_BPF_H

#include "bpf/full/live_rows.bpf.h"
#include "bpf/full/owners.bpf.h"

static __always_inline __u32 advisers_shift(__u64 base)
{
	return (base >> 6) % BLOCK_CHUNKS * 8;
}

static __always_inline struct advice_row *adviser_row(struct file_key *file, __u32 adviser)
{
	struct advice_key key = {.file = *file, .job = JOB_WATCHED, .kind = ADVICE_WILLNEED};

	key.call = adviser == ADVISER_MADVISE ? CALL_MADVISE : CALL_FADVISE;
	if (adviser == ADVISER_READAHEAD) {
		key.kind = ADVICE_READAHEAD;
		key.call = CALL_READAHEAD;
	}
	return bpf_map_lookup_elem(&advice, &key);
}

/* Ends n open fates of pages from these advisers. turned: they had counted as used. */
GLOBAL int advice_fate(struct file_key *file, __u32 advisers, enum counter fate, __u32 n,
		       __u32 turned)
{
	struct advice_row *row;

	if (!file)
		return 0;
	for (__u32 i = 0; i < ADVISER_BITS; i++) {
		if (!(advisers >> i & 1))
			continue;
		row = adviser_row(file, 1 << i);
		if (!row)
			continue;
		if (advisers != 1u << i) {
			__sync_fetch_and_add(&row->mixed, n);
			continue;
		}
		__sync_fetch_and_add(turned ? (__s64 *)&row->used : &row->resident_unused,
				     -(__s64)n);
		__sync_fetch_and_add(fate == C_used		? &row->used
				     : fate == C_used_late	? &row->used_late
				     : fate == C_evicted_unused ? &row->evicted_unused
								: &row->untracked,
				     n);
	}
	return 0;
}

/* Pages that advice brought in: n of them have an open fate; the fate of the others is unknown. */
GLOBAL int advice_begin(struct file_key *file, __u32 adviser, __u32 n, __u32 untracked)
{
	struct advice_row *row = file ? adviser_row(file, adviser) : NULL;

	if (!row)
		return 0;
	__sync_fetch_and_add(&row->resident_unused, n);
	__sync_fetch_and_add(&row->untracked, untracked);
	return 0;
}

/* Pages that the job's advice dropped came back, for the job or for others. */
GLOBAL int advice_regret(struct file_key *file, __u32 n, int others)
{
	struct advice_key key = {.job = JOB_WATCHED, .kind = ADVICE_DONTNEED, .call = CALL_FADVISE};
	struct advice_row *row;

	if (!file)
		return 0;
	key.file = *file;
	row = bpf_map_lookup_elem(&advice, &key);
	if (row)
		__sync_fetch_and_add(
			others ? &row->dropped_refaults_others : &row->dropped_refaults, n);
	return 0;
}

/* Pages that a read call of the job requests. */
static __always_inline void chunk_looked(struct chunk *c, __u64 mask)
{
	if (!(mask & ~c->looked) || !shared.references.bound)
		return;
	mask &= ~bits_set(&c->looked, mask);
	__sync_fetch_and_add(&shared.references.looked, popcount64(mask));
}

/* Pages were evicted and came back. */
static __noinline int chunk_refault(struct file_row *row, struct chunk *c, __u64 ghost,
				    __u64 missed, __u32 job)
{
	int pages = popcount64(ghost);

	if (!row || !c)
		return 0;
	row_add(row, C_refaults, pages);
	row_add(row, C_refault_misses, popcount64(ghost & missed));
	row_add(row, C_refault_distance_pages,
		(__u64)pages * (__u32)(*evicted_clock(job) - c->stamp_pages));
	row_add(row, C_refault_distance_ms, (__u64)pages * (__u32)(now_ms() - c->stamp_ms));
	return 0;
}

/* The block of this page of a file; NULL: nothing is known of it. */
static __always_inline struct block *block_find(struct file_key *file, __u64 page)
{
	struct block_key key;

	block_key_of(file, page, JOB_WATCHED, &key);
	return block_of(&key);
}

/* The block of this page, created if it does not exist; NULL if there is no room for it. With many
 * jobs: the job's own. */
static __always_inline struct block *block_take(struct file_key *file, __u64 page, __u32 job)
{
	struct block_key key;

	if (many_jobs())
		return owner_take(file, page, job);
	block_key_of(file, page, JOB_WATCHED, &key);
	return block_of(&key) ?: block_make(&key);
}

/*
 * Pages of one chunk, which starts at page base, entered the cache for the job. added: all of them,
 * prefetched: those ahead of the request, missed: those that a read call requested; adviser: which
 * advice prefetched them, 0: none.
 */
static __always_inline void chunk_added(struct file_row *row, struct file_key *file, __u64 base,
					__u64 added, __u64 prefetched, __u64 missed, __u32 adviser,
					__u32 job)
{
	struct block *b = block_take(file, base, job);
	int n = popcount64(prefetched), again = n;
	__u64 mark, resident, dropped = 0;
	struct chunk *c;

	if (!b) {
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
		row_add(row, C_untracked, n);
		row_add(row, C_untracked_map_full, n);
		if (adviser)
			advice_begin(file, adviser, 0, n);
		return;
	}
	c = chunk_in(b, base);
	chunk_looked(c, missed);
	resident = bits_set(&c->resident, added);
	if (c->advised & added)
		dropped = bits_clear(&c->advised, added);
	if (c->mark & added) {
		mark = bits_clear(&c->mark, added);
		mark &= added & ~resident;
		if (mark)
			chunk_refault(row, c, mark, missed, job);
		if (mark & dropped)
			advice_regret(file, popcount64(mark & dropped), false);
	}
	if (!n)
		return;
	/* Done before any program that settles their fate can see them. */
	if (adviser) {
		bits_set(&b->advisers, adviser << advisers_shift(base));
		bits_set(&c->advised, prefetched);
	}
	if (shared.read_on) {
		/* A page that was already outstanding had left the cache unseen: its fate is
		 * unknown. */
		again = popcount64(bits_set(&c->outstanding, prefetched) & prefetched);
		outstanding_begin(file->ino, row, n - again);
	}
	if (again)
		row_add(row, C_untracked, again);
	if (adviser)
		advice_begin(file, adviser, n - again, again);
}

/* Settles the fate of outstanding pages of the chunk that starts at page base; returns how many. */
static __always_inline int chunk_settle(struct file_key *file, struct file_row *row,
					struct block *b, __u64 base, __u64 mask, enum counter fate)
{
	struct chunk *c = chunk_in(b, base);
	__u64 out;
	int n;

	if (!(c->outstanding & mask))
		return 0;
	out = bits_clear(&c->outstanding, mask) & mask;
	n = popcount64(out);
	if (!n)
		return 0;
	if (fate == C_used)
		bits_set(&c->mark, out);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(file->ino)], -(__u64)n);
	row_add(row, C_resident_unused, -n);
	row_add(row, fate, n);
	if (out & c->advised)
		advice_fate(file, b->advisers >> advisers_shift(base) & 7, fate,
			    popcount64(out & c->advised), 0);
	return n;
}

struct settle_ctx {
	struct file_row *row;
	__u64 first, last;
	enum counter fate;
	__u32 late;
	__u32 looked; /* a call of the job requests them */
	struct file_key file;
};

STEP settle_step(__u32 i, struct settle_ctx *x)
{
	__u64 base = (x->first & ~63ull) + (__u64)i * 64;
	struct block *b = block_find(&x->file, base);
	__u64 mask, used;
	struct chunk *c;
	int n;

	if (!b)
		return 0;
	c = chunk_in(b, base);
	mask = chunk_mask(base, x->first, x->last);
	if (!(c->outstanding & mask) && !x->late)
		return 0;
	if (x->looked)
		chunk_looked(c, c->outstanding & mask);
	chunk_settle(&x->file, x->row, b, base, mask, x->fate);
	if (!x->late)
		return 0;
	/* Settled as used in time by an earlier event, but a reader still had to wait. */
	mask &= c->resident;
	used = bits_clear(&c->mark, mask) & mask;
	n = popcount64(used);
	row_add(x->row, C_used, -n);
	row_add(x->row, C_used_late, n);
	if (used & c->advised)
		advice_fate(&x->file, b->advisers >> advisers_shift(base) & 7, C_used_late,
			    popcount64(used & c->advised), 1);
	return 0;
}

/* Added to the fate: the reader belongs to the job. */
enum { SETTLE_OWN = 1 << 16 };

GLOBAL int settle_pages(struct file_row *row, __u64 inode, __u64 first, __u64 last,
			__u32 fate_and_own)
{
	enum counter fate = fate_and_own & ~SETTLE_OWN;
	/* The reader waited: pages that an earlier event settled as used in time become late
	 * too. */
	struct settle_ctx x = {.row = row,
			       .first = first,
			       .last = last,
			       .fate = fate,
			       .late = fate == C_used_late};
	__u64 nr;

	x.looked = fate_and_own & SETTLE_OWN && (fate == C_used || fate == C_used_late);
	if (!row || last < first)
		return 0;
	nr = (last >> 6) - (first >> 6) + 1;
	file_key_of(CAST(inode, inode), &x.file);
	if (nr == 1)
		settle_step(0, &x);
	else
		LOOP(nr > 1 << 20 ? 1 << 20 : nr, 1 << 20, settle_step, &x);
	return 0;
}

struct known_ctx {
	struct file_key file;
	__u64 first;
	__u64 found;
};

/* 1: found. */
STEP known_step(__u32 i, struct known_ctx *x)
{
	x->found = block_find(&x->file, x->first + (__u64)i * BLOCK_PAGES) != NULL;
	return x->found;
}

/* Whether the state of one of the pages is known: the job or its files brought it in. */
GLOBAL int pages_known(__u64 inode, __u64 first, __u64 last)
{
	struct known_ctx x = {.first = first / BLOCK_PAGES * BLOCK_PAGES};
	__u64 nr = last / BLOCK_PAGES - first / BLOCK_PAGES + 1;

	if (last < first)
		return 0;
	file_key_of(CAST(inode, inode), &x.file);
	LOOP(nr > 1 << 16 ? 1 << 16 : nr, 1 << 16, known_step, &x);
	return x.found != 0;
}

/* Settles all outstanding pages first..last of the inode, whichever task reads them. Gets the
 * row first, because both together would exceed the stack. Another process may read a file whose
 * inode number only looks like that of a file of the job: no row. */
static __always_inline void settle(struct live *l, __u64 inode, __u64 first, __u64 last,
				   enum counter fate)
{
	bool own = l->s.job != JOB_OTHERS;
	struct file_row *row;

	if (many_jobs()) {
		owners_settle(l, inode, first, last, fate);
		return;
	}
	if (!own && !pages_known(inode, first, last))
		return;
	row = live_row(l, CAST(inode, inode), 0, JOB_WATCHED);
	settle_pages(row, inode, first, last, fate | (own ? SETTLE_OWN : 0));
}

/* For basic/, which settles at the end of the program. */
static __always_inline void settle_asked(struct live *l)
{
}

#endif
