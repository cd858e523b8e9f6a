/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What leaves the sample. A quarter goes at once, so that this is done seldom; numbers stay as they
 * are, for the store has them, until as many are out of use as there are pages.
 */
#include <stdlib.h>

#include "cachemon/account/references_impl.h"

/* In the store there may be as much again of what left, and this much in any case. */
enum { STORED_SPARE = 65536, PAGES_SPARE = 1024 };

struct rank {
	uint32_t hash;
	uint32_t entries;
};

static int by_hash(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* The highest threshold below which three quarters of what may be are left at most. */
static uint64_t threshold_for(const struct reference_sample *s, const struct rank *ranks)
{
	size_t pages = s->limits.pages / 4 * 3, entries = s->limits.entries / 4 * 3, kept = 0;

	for (size_t i = 0; i < s->live; i++) {
		kept += ranks[i].entries;
		if (i >= pages || kept > entries)
			return ranks[i].hash; /* pages of the same hash leave together */
	}
	return s->threshold;
}

void reference_thin(struct reference_sample *s)
{
	struct rank *ranks = malloc(s->live * sizeof(*ranks));
	uint64_t threshold;
	size_t n = 0;

	if (!ranks) {
		reference_sample_break(s, "out of memory");
		return;
	}
	for (size_t i = 0; i < s->nr_pages; i++)
		if (s->pages[i].entries)
			ranks[n++] = (struct rank){s->pages[i].hash, s->pages[i].entries};
	qsort(ranks, n, sizeof(*ranks), by_hash);
	threshold = threshold_for(s, ranks);
	free(ranks);
	reference_sample_lower(s, threshold);
}

/* Entries of pages that are still in; a chunk that loses all of its own stays, for its lookups. */
static void entries_keep(struct reference_sample *s)
{
	size_t to = 0, chunk = 0, open_from = 0;

	for (size_t i = 0; i <= s->nr_entries; i++) {
		while (chunk < s->nr_chunks && s->chunks[chunk].first == i) {
			s->chunks[chunk].first = to;
			if (chunk)
				s->chunks[chunk - 1].nr = to - s->chunks[chunk - 1].first;
			chunk++;
		}
		if (i == s->open_from)
			open_from = to;
		if (i < s->nr_entries && s->pages[s->entries[i] >> 1].entries)
			s->entries[to++] = s->entries[i];
	}
	s->open_from = open_from;
	if (s->nr_chunks)
		s->chunks[s->nr_chunks - 1].nr = s->open_from - s->chunks[s->nr_chunks - 1].first;
	s->nr_entries = to;
}

/* New numbers, without gaps: all that the store has is out of date. */
static void renumber(struct reference_sample *s)
{
	uint32_t *numbers = malloc((s->nr_pages + 1) * sizeof(*numbers));
	size_t to = 0;

	if (!numbers)
		return; /* another time */
	for (size_t i = 0; i < s->nr_pages; i++) {
		numbers[i] = (uint32_t)to;
		if (s->pages[i].entries)
			s->pages[to++] = s->pages[i];
	}
	for (size_t i = 0; i < s->nr_entries; i++)
		s->entries[i] = numbers[s->entries[i] >> 1] << 1 | (s->entries[i] & 1);
	free(numbers);
	s->nr_pages = to;
	s->stored_pages = s->stored_chunks = 0;
	s->rewrite = true;
}

static void tidy(struct reference_sample *s)
{
	if (s->nr_pages > 2 * s->live + PAGES_SPARE ||
	    s->stored_entries > 2 * s->nr_entries + STORED_SPARE)
		renumber(s);
	reference_slots_fill(s);
}

void reference_sample_lower(struct reference_sample *s, uint64_t threshold)
{
	bool any = false;

	if (threshold >= s->threshold)
		return;
	s->threshold = threshold;
	for (size_t i = 0; i < s->nr_pages; i++) {
		struct sampled_page *p = &s->pages[i];

		if (!p->entries || p->hash < threshold)
			continue;
		s->refs -= p->lookups;
		p->entries = p->lookups = 0;
		s->live--;
		any = true;
	}
	if (!any)
		return;
	entries_keep(s);
	tidy(s);
}

void reference_open_forget(struct reference_sample *s)
{
	while (s->nr_entries > s->open_from) {
		uint32_t entry = s->entries[--s->nr_entries];
		struct sampled_page *p = &s->pages[entry >> 1];

		p->entries--;
		p->lookups -= !(entry & 1);
		s->refs -= !(entry & 1);
		s->live -= !p->entries;
	}
	reference_slots_fill(s);
}

void reference_chunks_merge(struct reference_sample *s)
{
	size_t to = 0;

	for (size_t i = 0; i < s->nr_chunks; i += 2, to++) {
		struct sampled_chunk c = s->chunks[i];

		if (i + 1 < s->nr_chunks) {
			c.lookups = s->chunks[i + 1].lookups;
			c.nr += s->chunks[i + 1].nr;
		}
		s->chunks[to] = c;
	}
	s->nr_chunks = to;
	s->stored_pages = s->stored_chunks = 0;
	s->rewrite = true;
}
