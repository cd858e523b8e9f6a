/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page state, as in full/page_state.bpf.h, for kernels without atomic operations that return the
 * old value. Each step takes the lock of its block, looks the block up inside it, and counts after
 * releasing it. An entry found without the lock is only a hint, because it may already belong to
 * another block. So no program uses what the sweep deletes under the lock. The code suits verifiers
 * that know each scalar exactly and so walk a loop once per combination: it uses arithmetic instead
 * of branches, and carries nothing from one round to the next.
 */
#ifndef BASIC_PAGE_STATE_BPF_H
#define BASIC_PAGE_STATE_BPF_H

#include "bpf/basic/live_rows.bpf.h"
#include "bpf/basic/locks.bpf.h"
#include "bpf/state/blocks.bpf.h"

static __always_inline __u64 block_lock_of(const struct block_key *key)
{
	return (key->file.ino << 24) ^ ((__u64)key->file.gen << 8) ^ (key->block >> 8);
}

/* Bits of the pages first..last inside the chunk that starts at page base, without a branch; 0
 * if none of the pages is in the chunk. */
static __always_inline __u64 chunk_mask_flat(__u64 base, __u64 first, __u64 last)
{
	__s64 lo = first - base, hi = last - base, below = lo >> 63, beyond = (63 - hi) >> 63, in;

	/* The compiler would turn these into branches. */
	barrier_var(below);
	barrier_var(beyond);
	in = ~(hi >> 63) & ((lo - 64) >> 63);
	barrier_var(in);
	lo &= ~below;
	hi = (hi & ~beyond) | (63 & beyond);
	return (~0ull << (lo & 63)) & (~0ull >> ((63 - hi) & 63)) & in;
}

/* Does not keep an element's address across the lock: look it up inside. */
static __always_inline struct block *block_look(struct block_key *key)
{
	return bpf_map_lookup_elem(&blocks, key);
}

static __always_inline struct block *block_look_or_make(struct block_key *key)
{
	struct block *b = block_look(key);

	if (b)
		return b;
	*used_files_slot(key->file.ino) = 1;
	if (!bpf_map_update_elem(&blocks, key, &zero_block, BPF_NOEXIST))
		__sync_fetch_and_add(&shared.blocks_used, 1);
	return block_look(key);
}

/* Pages that entered the cache for the job: all of them, and the requested ones among them. */
struct block_add {
	__u64 first, last;
	__u64 lo, hi;
	__u64 ahead;  /* ~0: pages that were not requested are prefetched */
	__u64 missed; /* ~0: requested pages were missed */
	__u64 open;   /* ~0: the per-read hook is on and sees fates */

	/* Pages that found room. */
	__u64 prefetched;
	__u64 again; /* of these: already outstanding, so they had left the cache unseen */
	__u64 refaults, refault_misses;
	__u64 distance_pages, distance_ms;

	__u64 untracked; /* prefetched, but there was no room for them */
};

static __always_inline void chunk_enter(struct chunk *c, __u64 base, struct block_add *a, __u32 now)
{
	__u64 added = chunk_mask_flat(base, a->first, a->last);
	__u64 asked = added & chunk_mask_flat(base, a->lo, a->hi);
	__u64 prefetched = added & ~asked & a->ahead, ghosts = c->mark & added & ~c->resident;
	__u64 refaults = popcount64(ghosts);

	a->prefetched += popcount64(prefetched);
	prefetched &= a->open;
	a->again += popcount64(c->outstanding & prefetched);
	a->refaults += refaults;
	a->refault_misses += popcount64(ghosts & asked & a->missed);
	a->distance_pages += refaults * (__u32)(shared.evicted_pages - c->stamp_pages);
	a->distance_ms += refaults * (__u32)(now - c->stamp_ms);
	c->resident |= added;
	c->outstanding |= prefetched;
	c->mark &= ~added;
}

/* False: there is no room. */
static __noinline int block_enter(struct file_key *file, __u64 base, struct block_add *a)
{
	struct block_key key;
	__u32 now = now_ms();
	struct block *b;
	__u64 lock;

	block_key_of(file, base, JOB_WATCHED, &key);
	lock = block_lock_of(&key);
	if (!lock_take(lock))
		return 0;
	b = block_look_or_make(&key);
	for (int i = 0; i < BLOCK_CHUNKS && b; i++)
		chunk_enter(&b->chunks[i], base + i * 64, a, now);
	lock_drop(lock);
	return b != NULL;
}

/* The number of added pages of the block that are ahead of the request. */
static __always_inline __u64 pages_ahead(struct block_add *a, __u64 base)
{
	__u64 n = 0;

	for (int i = 0; i < BLOCK_CHUNKS; i++) {
		__u64 added = chunk_mask_flat(base + i * 64, a->first, a->last);

		n += popcount64(added & ~chunk_mask_flat(base + i * 64, a->lo, a->hi) & a->ahead);
	}
	return n;
}

/* For the largest folio: 2 MiB in 4 KiB pages. */
#define FOLIO_BLOCKS_MAX 2

/* a: in map memory, complete except for the fates. */
static __noinline int blocks_enter(struct file_key *file, struct block_add *a)
{
	__u64 base = a->first / BLOCK_PAGES * BLOCK_PAGES;

	a->open = shared.read_on ? ~0ull : 0;
	a->prefetched = a->again = a->refaults = a->refault_misses = 0;
	a->distance_pages = a->distance_ms = a->untracked = 0;
	for (int i = 0; i < FOLIO_BLOCKS_MAX && base <= a->last; i++, base += BLOCK_PAGES) {
		if (block_enter(file, base, a))
			continue;
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
		a->untracked += pages_ahead(a, base);
	}
	return 0;
}

static __always_inline void blocks_entered(struct file_row *row, __u64 ino, struct block_add *a)
{
	__u64 n = a->open ? a->again : a->prefetched;

	row_add(row, C_refaults, a->refaults);
	row_add(row, C_refault_misses, a->refault_misses);
	row_add(row, C_refault_distance_pages, a->distance_pages);
	row_add(row, C_refault_distance_ms, a->distance_ms);
	outstanding_begin(ino, row, a->prefetched - n);
	row_add(row, C_untracked, n + a->untracked);
	row_add(row, C_untracked_map_full, a->untracked);
}

/* Pages that left the cache. */
struct block_left {
	__u64 all;    /* ~0: all of them count for the job, not only those that it added */
	__u64 ghosts; /* ~0: they may come back */

	__u64 nr; /* that count */
	__u64 added, open;
};

/* The pages of the range in the block that starts at page base, one bit each. */
static __always_inline __u64 block_pages(struct page_range *r, __u64 base)
{
	__u64 first = r->first > base ? r->first : base, end = base + BLOCK_PAGES;

	return (r->last < end ? r->last + 1 : end) - first;
}

static __noinline int block_leave(struct file_key *file, __u64 base, struct page_range *r,
				  struct block_left *left)
{
	__u64 all = left->all, ghosts = left->ghosts, nr = 0;
	struct block_key key;
	__u32 ms = now_ms();
	struct block *b;
	__u64 lock;

	block_key_of(file, base, JOB_WATCHED, &key);
	if (!(all & ghosts) && !block_look(&key))
		goto out;
	lock = block_lock_of(&key);
	if (!lock_take(lock)) {
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
		goto out;
	}
	b = all & ghosts ? block_look_or_make(&key) : block_look(&key);
	for (int i = 0; i < BLOCK_CHUNKS && b; i++) {
		struct chunk *c = &b->chunks[i];
		__u64 bits = chunk_mask_flat(base + i * 64, r->first, r->last);

		left->added += popcount64(bits & c->resident);
		left->open += popcount64(c->outstanding & bits);
		bits &= c->resident | all;
		nr += popcount64(bits);
		c->resident &= ~bits;
		c->outstanding &= ~bits;
		c->mark = (c->mark & ~bits) | (bits & ghosts);
		if (bits & ghosts) {
			c->stamp_pages = shared.evicted_pages + left->nr + nr;
			c->stamp_ms = ms;
		}
	}
	lock_drop(lock);
	if (!b)
		__sync_fetch_and_add(&shared.losses.ghosts_dropped, block_pages(r, base) & all);
out:
	left->nr += all ? block_pages(r, base) : nr;
	return 0;
}

static __noinline int blocks_leave(struct file_key *file, struct page_range *r,
				   struct block_left *left)
{
	__u64 base = r->first / BLOCK_PAGES * BLOCK_PAGES;

	left->nr = left->added = left->open = 0;
	for (int i = 0; i < FOLIO_BLOCKS_MAX && base <= r->last; i++, base += BLOCK_PAGES)
		block_leave(file, base, r, left);
	return 0;
}

/*
 * Fates are settled at the end of the program, so that the verifier need not track the rest of it
 * again. settle() requests them, and the order of the requests is kept.
 */
#define ASKS_MAX 2
struct settle_range {
	__u64 inode;
	__u64 first, last;
	__u64 fate;
};

struct settle_work {
	__u64 nr;
	__u64 settled, turned;
	struct settle_range asks[ASKS_MAX];
};
_Static_assert(sizeof(struct settle_work) <= sizeof(struct work), "settle_work");

/* Fates of a block's pages. */
static __noinline int settle_block(struct settle_work *w, struct settle_range *a,
				   struct file_key *file, __u64 base)
{
	__u64 late = a->fate == C_used_late ? ~0ull : 0, used = a->fate == C_used ? ~0ull : 0;
	__u64 lock, open = late;
	struct block_key key;
	struct block *b;

	block_key_of(file, base, JOB_WATCHED, &key);
	b = block_look(&key);
	if (!b)
		return 0;
	for (int i = 0; i < BLOCK_CHUNKS; i++)
		open |= b->chunks[i].outstanding;
	if (!open)
		return 0;
	lock = block_lock_of(&key);
	if (!lock_take(lock)) {
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
		return 0;
	}
	b = block_look(&key);
	for (int i = 0; i < BLOCK_CHUNKS && b; i++) {
		struct chunk *c = &b->chunks[i];
		__u64 mask = chunk_mask_flat(base + i * 64, a->first, a->last);
		__u64 out = c->outstanding & mask, turn = c->mark & c->resident & mask & late;

		c->outstanding &= ~out;
		c->mark = (c->mark & ~turn) | (out & used);
		w->settled += popcount64(out);
		w->turned += popcount64(turn);
	}
	lock_drop(lock);
	return 0;
}

/* The most that one call can settle: 16 MiB of 4 KiB pages. */
#define SETTLE_BLOCKS_MAX 16

static __noinline int settle_ask(struct live *l, struct settle_work *w, struct settle_range *a)
{
	__u64 base = a->first / BLOCK_PAGES * BLOCK_PAGES, last = a->last;
	struct inode *inode = CAST(inode, a->inode);
	struct file_key file;
	struct file_row *row;
	__u32 slot;

	w->settled = w->turned = 0;
	file_key_of(inode, &file);
	slot = outstanding_slot(file.ino);
	for (int i = 0; i < SETTLE_BLOCKS_MAX && base <= last; i++, base += BLOCK_PAGES)
		settle_block(w, a, &file, base);
	/* The rest stays open, and no later pass settles it: fates are a lower bound. A call may
	 * ask for more pages than exist. */
	if (base <= last && base << page_shift < (__u64)READ(inode, i_size) &&
	    (__u32)shared.outstanding[slot] > w->settled)
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
	if (!w->settled && !w->turned)
		return 0;
	__sync_fetch_and_add(&shared.outstanding[slot], -w->settled);
	row = live_row(l, inode, 0, JOB_WATCHED);
	row_add(row, C_resident_unused, -w->settled);
	row_add(row, a->fate, w->settled);
	row_add(row, C_used, -w->turned);
	row_add(row, C_used_late, w->turned);
	return 0;
}

static __always_inline void settle_asked(struct live *l)
{
	struct settle_work *w = work_of(WORK_SETTLE);

	if (!l || !w || !w->nr)
		return;
	settle_ask(l, w, &w->asks[0]);
	if (w->nr > 1)
		settle_ask(l, w, &w->asks[1]);
	w->nr = 0;
}

/* Settles the fates that an event with a single request asked for. */
static __always_inline void settle_asked_once(struct live *l)
{
	struct settle_work *w = work_of(WORK_SETTLE);

	if (!l || !w || !w->nr)
		return;
	settle_ask(l, w, &w->asks[0]);
	w->nr = 0;
}

/* Settles all outstanding pages first..last of the inode, whichever task reads them. */
static __noinline int settle(struct live *l, __u64 inode, __u64 first, __u64 last,
			     enum counter fate)
{
	struct settle_work *w = work_of(WORK_SETTLE);
	struct settle_range *a;

	if (!w || last < first)
		return 0;
	if (w->nr >= ASKS_MAX) {
		__sync_fetch_and_add(&shared.losses.chunk_full, 1);
		return 0;
	}
	a = w->nr ? &w->asks[1] : &w->asks[0];
	a->inode = inode;
	a->first = first;
	a->last = last;
	a->fate = fate;
	w->nr++;
	return 0;
}

#endif
