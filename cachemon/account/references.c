/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/references.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/references_impl.h"
#include "cachemon/base/vec.h"

struct reference_limits reference_limits_default(void)
{
	return (struct reference_limits){.pages = 8192, .entries = 1000000, .chunks = 4096};
}

int reference_sample_new(const struct reference_limits *limits, struct reference_sample **ret)
{
	struct reference_sample *s = calloc(1, sizeof(*s));
	uint32_t slots = 64;

	if (!s)
		return -ENOMEM;
	s->limits = limits ? *limits : reference_limits_default();
	/* A quarter full at most. */
	while (slots < s->limits.pages * 4)
		slots *= 2;
	s->slots = calloc(slots, sizeof(*s->slots));
	s->slot_mask = slots - 1;
	s->threshold = REFERENCE_THRESHOLD_ALL;
	s->distinct_pages = -1;
	/* All that it may have, of which what is not used is not resident: a watch that runs for
	 * days allocates nothing later on. */
	s->max_pages = s->limits.pages + 1;
	s->pages = malloc(s->max_pages * sizeof(*s->pages));
	s->max_entries = (size_t)s->limits.entries + 1;
	s->entries = malloc(s->max_entries * sizeof(*s->entries));
	if (!s->slots || !s->pages || !s->entries) {
		reference_sample_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void reference_sample_free(struct reference_sample *s)
{
	if (!s)
		return;
	free(s->pages);
	free(s->entries);
	free(s->chunks);
	free(s->slots);
	free(s);
}

/* Where the page is or would be. */
static uint32_t *slot_of(struct reference_sample *s, const struct file_key *file, uint64_t index,
			 uint32_t hash)
{
	uint32_t at = hash;

	for (;; at++) {
		uint32_t *slot = &s->slots[at & s->slot_mask];
		const struct sampled_page *p = *slot ? &s->pages[*slot - 1] : NULL;

		if (!p || (p->hash == hash && p->index == index && p->file.ino == file->ino &&
			   p->file.dev == file->dev && p->file.gen == file->gen))
			return slot;
	}
}

void reference_slots_fill(struct reference_sample *s)
{
	memset(s->slots, 0, (s->slot_mask + (size_t)1) * sizeof(*s->slots));
	for (size_t i = 0; i < s->nr_pages; i++) {
		const struct sampled_page *p = &s->pages[i];

		if (p->entries)
			*slot_of(s, &p->file, p->index, p->hash) = (uint32_t)i + 1;
	}
}

/* The page's number + 1, and a new one for a lookup of a page that has none; 0: none. */
static uint32_t number_of(struct reference_sample *s, const struct file_key *file, uint64_t index,
			  uint32_t hash, bool removed)
{
	uint32_t *slot = slot_of(s, file, index, hash);

	if (*slot || removed)
		return *slot;
	if (vec_reserve(s->pages, s->max_pages, s->nr_pages + 1)) {
		reference_sample_break(s, "out of memory");
		return 0;
	}
	s->pages[s->nr_pages] = (struct sampled_page){.file = *file, .index = index, .hash = hash};
	s->live++;
	*slot = (uint32_t)++s->nr_pages;
	return *slot;
}

void reference_sample_add(struct reference_sample *s, const struct file_key *file, uint64_t index,
			  uint32_t hash, bool removed)
{
	uint32_t number;

	if (s->broken || hash >= s->threshold)
		return;
	if (vec_reserve(s->entries, s->max_entries, s->nr_entries + 1)) {
		reference_sample_break(s, "out of memory");
		return;
	}
	number = number_of(s, file, index, hash, removed);
	if (!number)
		return;
	s->pages[number - 1].entries++;
	s->pages[number - 1].lookups += !removed;
	s->refs += !removed;
	s->entries[s->nr_entries++] = (number - 1) << 1 | removed;
	if (s->live > s->limits.pages || s->nr_entries > s->limits.entries)
		reference_thin(s);
}

void reference_sample_close(struct reference_sample *s, uint64_t start_ns, int64_t lookups)
{
	struct sampled_chunk *c;

	if (s->broken)
		return;
	s->lookups += lookups;
	if (s->open_from == s->nr_entries)
		return;
	if (s->nr_chunks >= s->limits.chunks)
		reference_chunks_merge(s);
	if (vec_reserve(s->chunks, s->max_chunks, s->nr_chunks + 1)) {
		reference_sample_break(s, "out of memory");
		return;
	}
	c = &s->chunks[s->nr_chunks++];
	c->start_ns = start_ns;
	c->lookups = s->lookups;
	c->first = s->open_from;
	c->nr = s->nr_entries - s->open_from;
	s->open_from = s->nr_entries;
}

/* Entries of no chunk have no lookups to be held against. */
void reference_sample_break(struct reference_sample *s, const char *reason)
{
	if (s->broken)
		return;
	s->broken = true;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	reference_open_forget(s);
}

size_t reference_sample_uncounted(struct reference_sample *s, sampled_page_ask counted, void *ctx)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_pages; i++) {
		struct sampled_page *p = &s->pages[i];

		if (!p->entries)
			continue;
		p->counted = p->counted || counted(ctx, p);
		nr += !p->counted;
	}
	return nr;
}

int64_t reference_distinct(uint64_t threshold, uint64_t counted, size_t sampled, double *ret_error)
{
	double rate = (double)threshold / (double)REFERENCE_THRESHOLD_ALL;
	double pages = (double)counted + (double)sampled / rate;

	*ret_error = 0;
	if (!threshold || pages < 1)
		return threshold ? 0 : -1;
	/* Of none in the sample there may be some all the same. */
	*ret_error = sqrt((double)(sampled ? sampled : 1) * (1 - rate)) / rate / pages;
	return llround(pages);
}

void reference_sample_distinct(struct reference_sample *s, int64_t pages, double error)
{
	s->distinct_pages = pages;
	s->distinct_error = error;
}

void reference_sample_view(const struct reference_sample *s, struct reference_view *ret)
{
	*ret = (struct reference_view){
		.pages = s->pages,
		.nr_pages = s->nr_pages,
		.live = s->live,
		.entries = s->entries,
		.nr_entries = s->nr_entries,
		.chunks = s->chunks,
		.nr_chunks = s->nr_chunks,
		.threshold = s->threshold,
		.refs = s->refs,
		.lookups = s->lookups,
		.distinct_pages = s->distinct_pages,
		.distinct_error = s->distinct_error,
		.broken = s->broken ? s->reason : NULL,
		.stored_pages = s->stored_pages,
		.stored_chunks = s->stored_chunks,
		.rewrite = s->rewrite,
	};
}

void reference_sample_stored(struct reference_sample *s)
{
	if (s->rewrite)
		s->stored_entries = 0;
	for (size_t i = s->rewrite ? 0 : s->stored_chunks; i < s->nr_chunks; i++)
		s->stored_entries += s->chunks[i].nr;
	s->stored_pages = s->nr_pages;
	s->stored_chunks = s->nr_chunks;
	s->rewrite = false;
}
