/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of the page state, and whose pages they hold. With one job, each block has one entry.
 * With many jobs, an eviction or a read of another task must find the owner of a page: the first
 * entry of a block, with slot 0 in its key, holds the pages of the job that came first, and names
 * it. Each further job has an entry of its slot, and the first entry counts these. A first entry
 * gets another owner only if it has none and there are no further entries; so a job never has two.
 * An owner that has ended has no pages, whatever its entries say, until a sweep empties them. Owns
 * these rules, and the fates and evictions of pages by owner.
 */
#ifndef FULL_OWNERS_BPF_H
#define FULL_OWNERS_BPF_H

#include "bpf/state/blocks.bpf.h"
#include "bpf/state/names.bpf.h"

static __always_inline struct chunk *chunk_in(struct block *b, __u64 page)
{
	return &b->chunks[(page >> 6) % BLOCK_CHUNKS];
}

/* Bits of the pages first..last inside the chunk that starts at page base; first <= last. */
static __always_inline __u64 chunk_mask(__u64 base, __u64 first, __u64 last)
{
	__u64 lo = first > base ? first - base : 0;
	__u64 hi = last < base + 63 ? last - base : 63;

	if (last < base || first > base + 63)
		return 0;
	return (~0ull << (lo & 63)) & (~0ull >> ((63 - hi) & 63));
}

/* After the mark was removed, the entry still belongs to the key if the key leads to it. The
 * lookup must come after the state was read; an atomic operation that returns the old value
 * ensures that order. */
static __noinline struct block *block_spare(struct block_key *key, struct block *b)
{
	if (word_swap(&b->going, BLOCK_MAY_GO, BLOCK_STAYS) == BLOCK_GONE)
		return NULL;
	return bpf_map_lookup_elem(&blocks, key) == b ? b : NULL;
}

/* An entry for writing, or NULL. */
static __always_inline struct block *block_of(struct block_key *key)
{
	struct block *b = bpf_map_lookup_elem(&blocks, key);

	return b && shared.sweeping ? block_spare(key, b) : b;
}

/* Creates an entry that was not found; NULL: there is no room for it. */
static __always_inline struct block *block_make(struct block_key *key)
{
	*used_files_slot(key->file.ino) = 1;
	if (!bpf_map_update_elem(&blocks, key, &zero_block, BPF_NOEXIST))
		__sync_fetch_and_add(&shared.blocks_used, 1);
	return block_of(key);
}

static __always_inline __u32 owner_of(__u32 word)
{
	return word & ~OWNER_MORES;
}

/* A further entry of the block whose first entry is given. Counted first: from then on the first
 * entry cannot become the job's, unless it is already. */
static __always_inline struct block *owner_add(struct block_key *key, struct block *first,
					       __u32 job)
{
	struct block *b;
	bool made;

	if (owner_of(__sync_fetch_and_add(&first->owner, OWNER_MORE)) == job) {
		__sync_fetch_and_add(&first->owner, -OWNER_MORE);
		return first;
	}
	made = !bpf_map_update_elem(&blocks, key, &zero_block, BPF_NOEXIST);
	__sync_fetch_and_add(made ? &shared.blocks_used : &first->owner, made ? 1 : -OWNER_MORE);
	b = block_of(key);
	if (b)
		word_swap(&b->owner, 0, job);
	return b;
}

/* The job's entry of the block of this page; NULL if there is no room for it. */
static __noinline struct block *owner_take(struct file_key *file, __u64 page, __u32 job)
{
	struct block *first, *b;
	struct block_key key;
	__u32 was;

	block_key_of(file, page, 0, &key);
	first = block_of(&key) ?: block_make(&key);
	if (!first)
		return NULL;
	was = first->owner ?: word_swap(&first->owner, 0, job);
	if (!was || owner_of(was) == job)
		return first;
	key.block |= job & JOB_SLOT;
	b = was & OWNER_MORES ? block_of(&key) : NULL;
	return b ?: owner_add(&key, first, job);
}

/* Pages of a file whose fates are settled, or that leave the cache. In a map's memory, because the
 * stack frames of the callees are too large together. */
struct owners_work {
	struct file_key file;
	__u64 first, last;
	__u64 base; /* the chunk at hand begins at this page */
	__u64 seen; /* its pages that had an owner */
	__u32 epoch;
	__u32 fate;
	__u32 leaves; /* the pages leave the cache, and why: enum evict_cause */
	__u32 cause;
	__u32 given_back; /* not evicted: their add is undone */
	__u32 job;	  /* of the running task */
	__u64 own, mine;  /* pages that count for any job, and for this one */
	__u32 user;	  /* gets pages that left and had no owner; 0: nobody */
	__u32 slot;	  /* entry at hand */
	__u32 more;	  /* further entries of its block that were not found yet */
	__u32 pad;
};
_Static_assert(sizeof(struct owners_work) <= sizeof(struct work), "owners_work");

/* Settles open fates; returns how many. */
static __always_inline int owner_settle(struct owners_work *w, struct file_row *row,
					struct chunk *c, __u64 mask)
{
	__u64 out = c->outstanding & mask;
	int n;

	if (!out)
		return 0;
	out = bits_clear(&c->outstanding, mask) & mask;
	n = popcount64(out);
	if (w->fate == C_used)
		bits_set(&c->mark, out);
	__sync_fetch_and_add(&shared.outstanding[outstanding_slot(w->file.ino)], -(__u64)n);
	shared_row_add(row, C_resident_unused, -n);
	if (!w->given_back)
		shared_row_add(row, w->fate, n);
	return n;
}

/* Readers: pages that an earlier event settled as used in time become late too. */
static __always_inline void owner_read(struct owners_work *w, struct file_row *row, struct chunk *c,
				       __u64 mask)
{
	__u64 used;
	int n;

	owner_settle(w, row, c, mask);
	if (w->fate != C_used_late)
		return;
	mask &= c->resident;
	if (!(c->mark & mask))
		return;
	used = bits_clear(&c->mark, mask) & mask;
	n = popcount64(used);
	shared_row_add(row, C_used, -n);
	shared_row_add(row, C_used_late, n);
}

/* Pages left, of which the job had brought in some, or none. */
static __always_inline void owner_left(struct owners_work *w, struct file_row *row, struct block *b,
				       __u64 left, __u64 added, __u32 job)
{
	struct chunk *c = b ? chunk_in(b, w->base) : NULL;
	int n = popcount64(left);

	if (c && added)
		owner_settle(w, row, c, added);
	if (w->given_back)
		return;
	shared_row_add(row, C_evicted_reclaim_kswapd + w->cause, n);
	shared_row_add(row, C_evicted_not_added, popcount64(left & ~added));
	w->own += n;
	if (job == w->job)
		w->mine += n;
	if (w->cause == EVICT_TRUNCATE) {
		__sync_fetch_and_add(&shared.truncated_pages, n);
		if (c)
			bits_clear(&c->mark, left);
		return;
	}
	__sync_fetch_and_add(&shared.evicted_pages, n);
	__sync_fetch_and_add(evicted_clock(job), n);
	if (!c) {
		__sync_fetch_and_add(&shared.losses.ghosts_dropped, n);
		return;
	}
	bits_set(&c->mark, left);
	c->stamp_pages = *evicted_clock(job);
	c->stamp_ms = now_ms();
}

/* Pages of the chunk at hand in one entry of its block. Returns the number of further entries,
 * from the first; from the others 1. */
GLOBAL int owner_pages(struct owners_work *w, __u32 slot)
{
	struct block_key key;
	struct file_row *row;
	__u64 mask, added;
	struct block *b;
	struct chunk *c;
	bool made = false;
	__u32 job;

	if (!w)
		return 0;
	block_key_of(&w->file, w->base, slot, &key);
	b = block_of(&key);
	if (!b)
		return 0;
	job = owner_of(b->owner);
	c = chunk_in(b, w->base);
	mask = chunk_mask(w->base, w->first, w->last);
	if (!w->leaves && w->fate != C_used_late)
		mask &= c->outstanding;
	mask &= c->resident;
	if (!mask || !job_is_live(job))
		goto out;
	added = w->leaves ? bits_clear(&c->resident, mask) & mask : 0;
	if (w->leaves && !added)
		goto out;
	row = shared_row(&w->file, job & JOB_SLOT, w->epoch, &made);
	if (w->leaves)
		owner_left(w, row, b, added, added, job);
	else
		owner_read(w, row, c, mask);
	w->seen |= added;
out:
	return slot ? 1 : (b->owner & OWNER_MORES) / OWNER_MORE;
}

/* One entry at a time, of one chunk after the other: a loop in a loop would be a frame too many.
 * True: it was the chunk's last one. */
static __always_inline bool owners_next(struct owners_work *w)
{
	if (!w->slot)
		w->more = owner_pages(w, 0);
	else if (shared.slots[w->slot & JOB_SLOT].job)
		w->more -= owner_pages(w, w->slot);
	w->slot++;
	return !w->more || w->slot >= shared.slots_end;
}

static __always_inline void chunk_begin(struct owners_work *w, __u64 base)
{
	w->base = base;
	w->slot = 0;
	w->seen = 0;
}

STEP owners_settle_step(__u32 i, struct owners_work **work)
{
	struct owners_work *w = *work;

	if (owners_next(w))
		chunk_begin(w, w->base + 64);
	return w->base > w->last;
}

/* More than the steps of any range: a call reads less than 2^31 bytes, which are at most 2^13
 * chunks, each with at most 2^8 entries. */
#define OWNERS_STEPS (1 << 23)

/* Settles all outstanding pages first..last of the inode, whichever task reads them. */
GLOBAL int owners_settle(struct live *l, __u64 inode, __u64 first, __u64 last, __u32 fate)
{
	struct owners_work *w = work_of(WORK_SETTLE);

	if (!l || !w || last < first)
		return 0;
	file_key_of(CAST(inode, inode), &w->file);
	w->first = first;
	w->last = last;
	w->fate = fate;
	w->leaves = w->given_back = 0;
	w->epoch = l->epoch;
	chunk_begin(w, first & ~63ull);
	bpf_loop(OWNERS_STEPS, owners_settle_step, &w, 0);
	return 0;
}

#endif
