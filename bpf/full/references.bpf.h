/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * References of sampled pages: every demand lookup of the watched job whose page's hash is not
 * above the bound goes to a ring, in order; so does a sampled page that leaves the cache other than
 * by reclaim. Owns the choice of pages, and when the programs lower the bound themselves; the
 * caller counts the lookups. The bound only falls, so excluded pages stay excluded, and pages below
 * it have all their references in the ring. User space ignores a reference that was written under
 * an older, higher bound.
 */
#ifndef FULL_REFERENCES_BPF_H
#define FULL_REFERENCES_BPF_H

#include "bpf/full/tally.bpf.h"

/* Half of the bound that was read, unless it fell meanwhile. */
static __always_inline void references_halve(__u64 bound)
{
	__sync_val_compare_and_swap(&shared.references.bound, bound, bound >> 1);
}

/* Whether the page is in the sample, or can be added. */
static __noinline bool reference_page_known(__u64 hash, __u64 flags, __u64 bound)
{
	__u32 one = 1, n;

	if (bpf_map_lookup_elem(&reference_pages, &hash))
		return true;
	if (flags & REFERENCE_REMOVED)
		return false;
	if (bpf_map_update_elem(&reference_pages, &hash, &one, BPF_NOEXIST)) {
		/* Another CPU was faster, or there is no room. */
		if (bpf_map_lookup_elem(&reference_pages, &hash))
			return true;
		__sync_fetch_and_add(&shared.references.dropped, 1);
		return false;
	}
	n = __sync_fetch_and_add(&shared.references.pages, 1) + 1;
	if (n >= REFERENCE_PAGES_PRESSED && !(n % REFERENCE_PAGES_AGAIN))
		references_halve(bound);
	return true;
}

/* A page within the running CPU's bound. */
GLOBAL int reference_take(struct file_key *file, __u64 page, __u64 hash, __u64 flags)
{
	__u64 bound = shared.references.bound;
	struct reference_record *rec;
	struct tally *t;
	__u32 n;

	if (!file)
		return 0;
	if (!bound || hash > bound) {
		t = tally_here();
		if (t)
			t->bound = bound;
		return 0;
	}
	if (!reference_page_known(hash, flags, bound))
		return 0;
	rec = bpf_ringbuf_reserve(&references, sizeof(*rec), 0);
	if (!rec) {
		__sync_fetch_and_add(&shared.references.dropped, 1);
		return 0;
	}
	rec->file = *file;
	rec->page = page << REFERENCE_FLAG_BITS | flags;
	n = __sync_fetch_and_add(&shared.references.came, 1) + 1;
	bpf_ringbuf_submit(rec, n % REFERENCES_WAKE ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	if (n >= REFERENCES_AT_ONCE && !(n % (REFERENCES_AT_ONCE / 4)))
		references_halve(bound);
	return 0;
}

struct reference_walk {
	struct file_key file;
	__u64 seed, step; /* of the next page */
	__u64 page, last;
	__u64 bound;
	__u64 flags;
};

/* Handles this many at a time, because a call for each page would cost more than its hash. */
#define REFERENCE_PAGES_A_STEP 8

static long references_step(__u32 i, struct reference_walk *w)
{
	__u64 step = w->step, page = w->page;

	for (int k = 0; k < REFERENCE_PAGES_A_STEP; k++) {
		__u64 root = w->seed ^ step;

		if (root * root <= w->bound && page + k <= w->last)
			reference_take(&w->file, page + k, root * root, w->flags);
		step += (__u64)REFERENCE_STEP;
	}
	w->step = step;
	w->page = page + REFERENCE_PAGES_A_STEP;
	return 0;
}

/* Records the references of pages first..last of a file. */
GLOBAL int references_walk(struct file_key *file, __u64 first, __u64 last, __u64 flags)
{
	struct reference_walk w = {.page = first, .last = last, .flags = flags};
	__u64 nr = (last - first) / REFERENCE_PAGES_A_STEP + 1;

	if (!file || last < first)
		return 0;
	w.file = *file;
	w.bound = shared.references.bound;
	w.seed = reference_seed(file);
	w.step = first * (__u64)REFERENCE_STEP;
	bpf_loop(nr > 1 << 20 ? 1 << 20 : nr, references_step, &w, 0);
	return 0;
}

static __always_inline __u64 reference_generation(__u32 at_epoch)
{
	return at_epoch & 1 ? REFERENCE_B : 0;
}

static __always_inline bool references_on(void)
{
	return shared.references.bound;
}

/* Lookups first..last of a call of the job; the caller counts them. */
static __always_inline void references_looked_up(struct file_key *file, __u64 first, __u64 last,
						 __u32 at_epoch)
{
	if (!references_on())
		return;
	if (first == last) {
		__u64 hash = reference_hash(reference_seed(file), first);

		if (hash <= shared.references.bound)
			reference_take(file, first, hash, reference_generation(at_epoch));
		return;
	}
	references_walk(file, first, last, reference_generation(at_epoch));
}

static __always_inline __u64 tally_reference_generation(struct tally *t)
{
	return t->generation == TALLY_B ? REFERENCE_B : 0;
}

/* The same for a call that a tally takes. */
static __always_inline void references_tallied(struct tally *t, __u64 first, __u64 last)
{
	if (t->bound)
		references_walk(&t->file, first, last, tally_reference_generation(t));
}

/* For one page. Sampled pages are rare: for them the caller calls reference_take_tallied(), and
 * gets the page from where it costs nothing to keep. */
static __always_inline bool reference_tallied(const struct tally *t, __u64 page, __u64 *ret_hash)
{
	*ret_hash = reference_hash(t->seed, page);
	return *ret_hash <= t->bound;
}

static __always_inline void reference_take_tallied(struct tally *t, __u64 page, __u64 hash)
{
	reference_take(&t->file, page, hash, tally_reference_generation(t));
}

/* Pages first..last leave the cache, and the cause. */
static __always_inline void references_left(struct file_key *file, __u64 first, __u64 last,
					    enum evict_cause cause, __u32 at_epoch)
{
	if ((cause == EVICT_DONTNEED || cause == EVICT_DROP_CACHES || cause == EVICT_TRUNCATE ||
	     cause == EVICT_DIRECT_IO || cause == EVICT_INVALIDATE || cause == EVICT_DONTCACHE) &&
	    references_on())
		references_walk(file, first, last,
				REFERENCE_REMOVED | reference_generation(at_epoch));
}

#endif
