/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Finds the page to evict: a tree of maxima over the cached pages, with the time of each page's
 * next use in its leaf. These times are unique: a page that is never used again has a time of its
 * own past the end. So the time identifies the page.
 */
struct opt {
	const struct curve_sample *s;
	uint32_t *next; /* by entry: time of the page's next use */
	uint32_t nr_leaves;
	uint32_t *tree; /* 0: not cached; the root is 1 */
};

void opt_free(struct opt *o)
{
	if (!o)
		return;
	free(o->next);
	free(o->tree);
	free(o);
}

/* The time of each entry's next lookup. A lookup that never comes, or comes after the page's
 * removal, has a unique time past the end. Times begin at 1. */
static int find_next(struct opt *o)
{
	const struct curve_sample *s = o->s;
	uint32_t *coming = malloc(((size_t)s->nr_pages + 1) * sizeof(*coming));

	if (!coming)
		return -ENOMEM;
	for (uint32_t p = 0; p < s->nr_pages; p++)
		coming[p] = (uint32_t)s->nr_entries + 1 + p;
	for (size_t i = s->nr_entries; i-- > 0;) {
		uint32_t page = curve_entry_page(s->entries[i]);

		o->next[i] = coming[page];
		coming[page] = curve_entry_removed(s->entries[i])
				       ? (uint32_t)s->nr_entries + 1 + page
				       : (uint32_t)i + 1;
	}
	free(coming);
	return 0;
}

int opt_new(const struct curve_sample *s, struct opt **ret)
{
	struct opt *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->s = s;
	o->nr_leaves = 2;
	while (o->nr_leaves < s->nr_pages)
		o->nr_leaves *= 2;
	o->next = malloc((s->nr_entries + 1) * sizeof(*o->next));
	o->tree = malloc(2 * (size_t)o->nr_leaves * sizeof(*o->tree));
	if (!o->next || !o->tree || find_next(o) < 0) {
		opt_free(o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

static void leaf_set(struct opt *o, uint32_t page, uint32_t time)
{
	uint32_t i = o->nr_leaves + page;

	o->tree[i] = time;
	while (i > 1) {
		uint32_t a = o->tree[i];
		uint32_t b = o->tree[i ^ 1];
		uint32_t max = a > b ? a : b;

		i /= 2;
		if (o->tree[i] == max)
			return;
		o->tree[i] = max;
	}
}

static uint32_t page_of_time(const struct opt *o, uint32_t time)
{
	if (time > o->s->nr_entries)
		return time - (uint32_t)o->s->nr_entries - 1;
	return curve_entry_page(o->s->entries[time - 1]);
}

void opt_misses(struct opt *o, uint32_t cache_pages, const uint32_t lookups[],
		struct curve_misses *misses)
{
	const struct curve_sample *s = o->s;
	uint32_t cached = 0;

	memset(o->tree, 0, 2 * (size_t)o->nr_leaves * sizeof(*o->tree));
	for (size_t i = 0; i < s->nr_entries; i++) {
		uint32_t page = curve_entry_page(s->entries[i]);
		bool there = o->tree[o->nr_leaves + page] != 0;

		if (curve_entry_removed(s->entries[i])) {
			cached -= there;
			leaf_set(o, page, 0);
			continue;
		}
		if (!there) {
			misses->of_group[curve_group(s->hashes[page])]++;
			misses->by_lookups += lookups[page];
			if (cached == cache_pages)
				leaf_set(o, page_of_time(o, o->tree[1]), 0);
			else
				cached++;
		}
		leaf_set(o, page, o->next[i]);
	}
}
