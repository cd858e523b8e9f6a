/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/reference_ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/references.h"
#include "capture/probe_set_impl.h"

enum { BATCH = 1024 };
#define SECOND_NS 1000000000ULL

struct reference_ring {
	struct cachemon_bpf *skel;
	struct reference_sample *sample;
	struct file_key file; /* of the last record, and its seed */
	uint64_t seed;
	uint64_t second_ns; /* when the programs last began to count anew */
	bool started;
};

/* Hashes of 32 bits below it have all of theirs up to the bound. */
static uint64_t threshold_of(uint64_t bound)
{
	return (bound >> 32) + ((uint32_t)bound == UINT32_MAX);
}

static uint64_t bound_of(uint64_t threshold)
{
	return (threshold << 32) - 1; /* of 2^32: all */
}

static int on_reference(void *ctx, void *data, size_t size)
{
	struct reference_ring *r = ctx;
	const struct reference_record *rec = data;

	if (size < sizeof(*rec) || !r->started)
		return 0;
	if (memcmp(&rec->file, &r->file, sizeof(r->file)) != 0) {
		r->file = rec->file;
		r->seed = reference_seed(&rec->file);
	}
	reference_sample_add(r->sample, &rec->file, rec->page >> 1,
			     (uint32_t)(reference_hash(r->seed, rec->page >> 1) >> 32),
			     rec->page & 1);
	return 0;
}

int reference_ring_new(struct probe_set *set, struct ring_buffer *rings,
		       struct reference_ring **ret)
{
	struct reference_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->skel = probe_set_skeleton(set);
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
	free(r);
}

void reference_ring_start(struct reference_ring *r)
{
	r->started = true;
	r->skel->bss->shared.references.bound = REFERENCES_ALL;
}

/* It only falls, and the programs lower it too. */
static void lower_bound(struct reference_ring *r, uint64_t bound)
{
	__u64 *now = &r->skel->bss->shared.references.bound;
	__u64 seen = __atomic_load_n(now, __ATOMIC_RELAXED);

	while (seen > bound && !__atomic_compare_exchange_n(now, &seen, bound, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* Pages that the threshold has put out of the sample: room in the map for others. */
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
		 "%llu references found no room: the job read more sampled pages at once than "
		 "could be taken",
		 (unsigned long long)dropped);
	reference_ring_end(r, reason);
}

void reference_ring_settle(struct reference_ring *r, uint64_t now_ns)
{
	struct reference_state *shared = (struct reference_state *)&r->skel->bss->shared.references;
	struct reference_view v;

	if (!r->started)
		return;
	check_dropped(r);
	if (now_ns - r->second_ns >= SECOND_NS) {
		r->second_ns = now_ns;
		__atomic_store_n(&shared->came, 0, __ATOMIC_RELAXED);
	}
	reference_sample_lower(r->sample, threshold_of(shared->bound));
	reference_sample_view(r->sample, &v);
	lower_bound(r, v.broken ? REFERENCES_NONE : bound_of(v.threshold));
	if (shared->pages > NR_REFERENCE_PAGES / 2 && v.live < NR_REFERENCE_PAGES / 4)
		pages_delete(r, v.threshold);
}

void reference_ring_end(struct reference_ring *r, const char *reason)
{
	if (!r->started)
		return;
	reference_sample_break(r->sample, reason);
	lower_bound(r, REFERENCES_NONE);
}

struct reference_sample *reference_ring_sample(struct reference_ring *r)
{
	return r->started ? r->sample : NULL;
}
