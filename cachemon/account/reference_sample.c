/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/reference_sample.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/file_key.h"
#include "cachemon/base/vec.h"

struct reference_sample {
	struct reference_limits limits;
	uint64_t threshold;
	struct sampled_page *pages;
	size_t nr_pages, max_pages, live;
	uint32_t *entries;
	size_t nr_entries, max_entries;
	size_t open_from; /* entries from here on belong to no chunk yet */
	struct sampled_chunk *chunks;
	size_t nr_chunks, max_chunks;
	struct hash_index index; /* for the sampled pages */
	int64_t refs, lookups;
	int64_t distinct_pages;
	double distinct_error;
	bool broken;
	char reason[REFERENCE_REASON_MAX];
	size_t stored_pages, stored_chunks, stored_entries;
	bool rewrite;
};

struct reference_limits reference_limits_default(void)
{
	return (struct reference_limits){.pages = 8192, .entries = 1000000, .chunks = 4096};
}

int reference_sample_new(const struct reference_limits *limits, struct reference_sample **ret)
{
	struct reference_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->limits = limits ? *limits : reference_limits_default();
	s->threshold = REFERENCE_THRESHOLD_ALL;
	s->distinct_pages = -1;
	/* Allocates the maximum, of which unused parts are not resident: a watch of days
	 * allocates nothing later. */
	s->max_pages = s->limits.pages + 1;
	s->pages = malloc(s->max_pages * sizeof(*s->pages));
	s->max_entries = (size_t)s->limits.entries + 1;
	s->entries = malloc(s->max_entries * sizeof(*s->entries));
	if (!s->pages || !s->entries || hash_index_reserve(&s->index, s->limits.pages + 1)) {
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
	hash_index_free(&s->index);
	free(s);
}

/* For the sampled pages. */
static void fill_index(struct reference_sample *s)
{
	hash_index_clear(&s->index);
	for (size_t i = 0; i < s->nr_pages; i++)
		if (s->pages[i].entries)
			hash_index_put(&s->index, s->pages[i].hash, i);
}

/* A full sample drops a quarter at once, so that this is rare. Pages keep their numbers, because
 * the store has them, until as many numbers are unused as used. The store may hold as much dropped
 * data as live data, and at least this much. */
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

/* The highest threshold that keeps at most three quarters of the limit. */
static uint64_t threshold_for(const struct reference_sample *s, const struct rank *ranks)
{
	size_t pages = s->limits.pages / 4 * 3, entries = s->limits.entries / 4 * 3, kept = 0;

	for (size_t i = 0; i < s->live; i++) {
		kept += ranks[i].entries;
		if (i >= pages || kept > entries)
			return ranks[i].hash; /* pages with the same hash leave together */
	}
	return s->threshold;
}

static void thin_sample(struct reference_sample *s)
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

/* Keeps the entries of the remaining pages. A chunk without entries stays, because it has
 * lookups. */
static void keep_entries(struct reference_sample *s)
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

/* Renumbers without gaps, which invalidates everything in the store. */
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
	fill_index(s);
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
	keep_entries(s);
	tidy(s);
}

static void forget_open(struct reference_sample *s)
{
	while (s->nr_entries > s->open_from) {
		uint32_t entry = s->entries[--s->nr_entries];
		struct sampled_page *p = &s->pages[entry >> 1];

		p->entries--;
		p->lookups -= !(entry & 1);
		s->refs -= !(entry & 1);
		s->live -= !p->entries;
	}
	fill_index(s);
}

static void merge_chunks(struct reference_sample *s)
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

/* The number of a page; a lookup of a page without one gets a new number. False: none. */
static bool page_number(struct reference_sample *s, const struct file_key *file, uint64_t index,
			uint32_t hash, bool removed, size_t *ret)
{
	for (size_t at = 0; hash_index_next(&s->index, hash, &at, ret);)
		if (s->pages[*ret].index == index && file_key_equal(&s->pages[*ret].file, file))
			return true;
	if (removed)
		return false;
	if (vec_reserve(s->pages, s->max_pages, s->nr_pages + 1)) {
		reference_sample_break(s, "out of memory");
		return false;
	}
	hash_index_put(&s->index, hash, s->nr_pages);
	s->pages[s->nr_pages] = (struct sampled_page){.file = *file, .index = index, .hash = hash};
	s->live++;
	*ret = s->nr_pages++;
	return true;
}

void reference_sample_add(struct reference_sample *s, const struct file_key *file, uint64_t index,
			  uint32_t hash, bool removed)
{
	size_t number;

	if (s->broken || hash >= s->threshold)
		return;
	if (vec_reserve(s->entries, s->max_entries, s->nr_entries + 1)) {
		reference_sample_break(s, "out of memory");
		return;
	}
	if (!page_number(s, file, index, hash, removed, &number))
		return;
	s->pages[number].entries++;
	s->pages[number].lookups += !removed;
	s->refs += !removed;
	s->entries[s->nr_entries++] = (uint32_t)number << 1 | removed;
	if (s->live > s->limits.pages || s->nr_entries > s->limits.entries)
		thin_sample(s);
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
		merge_chunks(s);
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

/* Entries outside any chunk have no lookups to compare with. */
void reference_sample_break(struct reference_sample *s, const char *reason)
{
	if (s->broken)
		return;
	s->broken = true;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	forget_open(s);
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
	/* A sample without such a page does not prove that no such page exists. */
	*ret_error = sqrt((double)(sampled ? sampled : 1) * (1 - rate)) / rate / pages;
	return llround(pages);
}

void reference_sample_distinct(struct reference_sample *s, int64_t pages, double error)
{
	s->distinct_pages = pages < s->lookups ? pages : s->lookups;
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
