/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/reference_ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/references.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/human.h"
#include "cachemon/base/vec.h"
#include "cachemon/capture/probe_set_impl.h"

enum { PAGES_LEAST = 256 /* minimum of a useful sample */ };
/* The mean distance of references in ns that is allowed in the long run. */
#define REFERENCE_EVERY_NS (1000000000ULL / REFERENCES_A_SECOND)
/* Querying the page state takes a system call per page, so it is done rarely and at the end. */
#define ASK_AGAIN_NS 1000000000ULL

struct reference_ring {
	struct cachemon_maps_bpf *skel;
	struct reference_sample *sample;
	struct file_key file; /* file of the last record, and its seed */
	uint64_t seed;
	uint64_t drained_ns;	       /* time until which the allowance was subtracted from the
					* count */
	uint64_t generation;	       /* 0 or REFERENCE_B: of the current interval */
	struct reference_record *next; /* records of the next interval, which has already begun */
	size_t nr_next, max_next;
	uint64_t looked; /* pages counted by the page state at the last query */
	uint64_t asked_ns;
	bool next_begun; /* the previous interval is closed, and its sample unchanged so far */
	bool started;
	uint64_t taken;
};

/* Pages whose 32-bit hash is below it have all their references up to the bound. */
static uint64_t threshold_of(uint64_t bound)
{
	return (bound >> 32) + ((uint32_t)bound == UINT32_MAX);
}

static uint64_t bound_of(uint64_t threshold)
{
	return (threshold << 32) - 1; /* of 2^32: all */
}

static void take_reference(struct reference_ring *r, const struct reference_record *rec)
{
	uint64_t index = rec->page >> REFERENCE_FLAG_BITS;

	if (memcmp(&rec->file, &r->file, sizeof(r->file)) != 0) {
		r->file = rec->file;
		r->seed = reference_seed(&rec->file);
	}
	reference_sample_add(r->sample, &rec->file, index,
			     (uint32_t)(reference_hash(r->seed, index) >> 32),
			     rec->page & REFERENCE_REMOVED);
}

/* Counted in the next generation: kept until this interval is closed. */
static void put_aside(struct reference_ring *r, const struct reference_record *rec)
{
	if (vec_reserve(r->next, r->max_next, r->nr_next + 1)) {
		reference_ring_end(r, "out of memory");
		return;
	}
	r->next[r->nr_next++] = *rec;
}

/* The kept records, once their interval has begun. */
static void take_next(struct reference_ring *r)
{
	if (!r->next_begun)
		return;
	r->next_begun = false;
	for (size_t i = 0; i < r->nr_next; i++)
		take_reference(r, &r->next[i]);
	r->nr_next = 0;
}

static int on_reference(void *ctx, void *data, size_t size)
{
	struct reference_ring *r = ctx;
	const struct reference_record *rec = data;

	if (size < sizeof(*rec) || !r->started)
		return 0;
	take_next(r);
	r->taken++;
	if ((rec->page & REFERENCE_B) == r->generation)
		take_reference(r, rec);
	else
		put_aside(r, rec);
	return 0;
}

int reference_ring_new(struct probe_set *set, struct ring_buffer *rings,
		       struct reference_ring **ret)
{
	struct reference_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->skel = set->skel;
	r->seed = reference_seed(&r->file);
	err = reference_sample_new(NULL, &r->sample);
	if (!err)
		err = ring_buffer__add(rings, bpf_map__fd(r->skel->maps.references), on_reference,
				       r);
	if (err) {
		reference_ring_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void reference_ring_free(struct reference_ring *r)
{
	if (!r)
		return;
	reference_sample_free(r->sample);
	free(r->next);
	free(r);
}

void reference_ring_start(struct reference_ring *r)
{
	if (!r)
		return;
	r->started = true;
	r->skel->bss->shared.references.bound = REFERENCES_ALL;
}

/* The bound only falls, and the programs lower it too. */
static void lower_bound(struct reference_ring *r, uint64_t bound)
{
	__u64 *now = &r->skel->bss->shared.references.bound;
	__u64 seen = __atomic_load_n(now, __ATOMIC_RELAXED);

	while (seen > bound && !__atomic_compare_exchange_n(now, &seen, bound, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* Drops pages above the threshold, which makes room in the map. */
static void pages_delete(struct reference_ring *r, uint64_t threshold)
{
	int fd = bpf_map__fd(r->skel->maps.reference_pages);
	uint64_t key, *prev = NULL, at, *keys = malloc(NR_REFERENCE_PAGES * sizeof(*keys));
	uint32_t nr = 0, deleted = 0;

	if (!keys)
		return;
	while (nr < NR_REFERENCE_PAGES && !bpf_map_get_next_key(fd, prev, &key)) {
		if (key >> 32 >= threshold)
			keys[nr++] = key;
		at = key;
		prev = &at;
	}
	for (uint32_t i = 0; i < nr; i++)
		deleted += !bpf_map_delete_elem(fd, &keys[i]);
	__atomic_fetch_sub(&r->skel->bss->shared.references.pages, deleted, __ATOMIC_RELAXED);
	free(keys);
}

static void check_dropped(struct reference_ring *r)
{
	char reason[REFERENCE_REASON_MAX];
	uint64_t dropped = r->skel->bss->shared.references.dropped;

	if (!dropped)
		return;
	snprintf(reason, sizeof(reason),
		 "%s references were lost: the job read sampled pages faster than cachemon could "
		 "record them",
		 human_exact((int64_t)dropped).text);
	reference_ring_end(r, reason);
}

/* Subtracts the allowance for the time since the last call from the programs' count. */
static void drain_count(struct reference_ring *r, uint64_t now_ns)
{
	__u32 *came = &r->skel->bss->shared.references.came, seen, left;
	uint64_t may;

	if (!r->drained_ns)
		r->drained_ns = now_ns;
	may = (now_ns - r->drained_ns) / REFERENCE_EVERY_NS;
	r->drained_ns += may * REFERENCE_EVERY_NS;
	seen = __atomic_load_n(came, __ATOMIC_RELAXED);
	do
		left = seen > may ? seen - (__u32)may : 0;
	while (!__atomic_compare_exchange_n(came, &seen, left, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

void reference_ring_settle(struct reference_ring *r, uint64_t now_ns)
{
	struct reference_state *shared = (struct reference_state *)&r->skel->bss->shared.references;
	struct reference_view v;

	if (!r->started)
		return;
	check_dropped(r);
	drain_count(r, now_ns);
	reference_sample_lower(r->sample, threshold_of(shared->bound));
	reference_sample_view(r->sample, &v);
	lower_bound(r, v.broken ? REFERENCES_NONE : bound_of(v.threshold));
	if (shared->pages > NR_REFERENCE_PAGES / 2 && v.live < NR_REFERENCE_PAGES / 4)
		pages_delete(r, v.threshold);
}

struct asker {
	int blocks;
	bool ask;
};

static bool is_counted(void *ctx, const struct sampled_page *p)
{
	const struct asker *a = ctx;
	struct block_key key = {.file = p->file,
				.block = p->index / BLOCK_PAGES << 8 | JOB_WATCHED};
	struct block block;

	if (!a->ask || bpf_map_lookup_elem(a->blocks, &key, &block))
		return false;
	return block.chunks[p->index / 64 % BLOCK_CHUNKS].looked >> p->index % 64 & 1;
}

/* The count is invalid if the page state was full or had to drop ghosts. */
static bool is_complete(const struct cachemon_maps_bpf *skel)
{
	const struct loss_counts *losses = (const struct loss_counts *)&skel->bss->shared.losses;

	return !losses->chunk_full && !losses->ghosts_dropped;
}

/* Updates the number of pages that the job looked up: the page state counts those that came during
 * the run, and the sample gives an estimate of the others. Call it when the interval's programs
 * have ended; last: nothing follows. */
static void estimate_distinct(struct reference_ring *r, bool last)
{
	struct asker asker = {.blocks = bpf_map__fd(r->skel->maps.blocks)};
	uint64_t looked = r->skel->bss->shared.references.looked, counted = 0;
	struct reference_view v;
	size_t others;
	int64_t pages;
	double error;

	reference_sample_view(r->sample, &v);
	if (v.broken)
		return;
	others = v.live;
	/* Otherwise all pages are in the sample, or the page state does not know them. */
	if (v.threshold != REFERENCE_THRESHOLD_ALL && is_complete(r->skel)) {
		/* Without newly counted pages, no page of the sample is newly counted. */
		asker.ask = looked != r->looked;
		if (asker.ask && !last && clock_now_ns() - r->asked_ns < ASK_AGAIN_NS)
			return; /* as at the last query */
		if (asker.ask)
			r->asked_ns = clock_now_ns();
		counted = r->looked = looked;
		others = reference_sample_uncounted(r->sample, is_counted, &asker);
	}
	pages = reference_distinct(v.threshold, counted, others, &error);
	reference_sample_distinct(r->sample, pages, error);
}

void reference_ring_close(struct reference_ring *r, bool last, uint64_t start_ns, int64_t lookups)
{
	if (!r->started)
		return;
	r->next_begun |= last;
	take_next(r);
	reference_sample_close(r->sample, start_ns, lookups);
	r->generation = r->skel->bss->shared.epoch & 1 ? REFERENCE_B : 0;
	estimate_distinct(r, last);
	r->next_begun = true;
}

uint64_t reference_ring_taken(const struct reference_ring *r)
{
	return r ? r->taken : 0;
}

void reference_ring_limit_burst(struct reference_ring *r, uint32_t references)
{
	if (r && references < REFERENCES_AT_ONCE)
		r->skel->bss->shared.references.came = REFERENCES_AT_ONCE - references;
}

void reference_ring_thin(struct reference_ring *r, const char *reason)
{
	struct reference_view v;
	uint64_t bound;

	if (!r || !r->started)
		return;
	bound = r->skel->bss->shared.references.bound;
	if (!bound)
		return;
	reference_sample_view(r->sample, &v);
	if (v.live < PAGES_LEAST && bound != REFERENCES_ALL)
		reference_ring_end(r, reason);
	else
		lower_bound(r, bound / 2);
}

void reference_ring_end(struct reference_ring *r, const char *reason)
{
	if (!r || !r->started)
		return;
	reference_sample_break(r->sample, reason);
	lower_bound(r, REFERENCES_NONE);
}

struct reference_sample *reference_ring_sample(struct reference_ring *r)
{
	return r->started ? r->sample : NULL;
}
