/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/refault.h"

#include <errno.h>
#include <stdlib.h>

/* A page is in the LRU list, or left at a certain count of evictions. */
struct lru_page {
	uint32_t newer, older;
	uint32_t left;
	bool cached, known;
};

struct lru {
	struct lru_page *pages; /* and one more: the ends of the list */
	uint32_t ends, cached, room, evicted;
};

static void unlink_page(struct lru *l, uint32_t page)
{
	struct lru_page *p = &l->pages[page];

	l->pages[p->newer].older = p->older;
	l->pages[p->older].newer = p->newer;
}

static void link_newest(struct lru *l, uint32_t page)
{
	struct lru_page *p = &l->pages[page];
	uint32_t newest = l->pages[l->ends].older;

	p->newer = l->ends;
	p->older = newest;
	l->pages[newest].newer = page;
	l->pages[l->ends].older = page;
}

static void leave(struct lru *l, uint32_t page)
{
	struct lru_page *p = &l->pages[page];

	unlink_page(l, page);
	p->cached = false;
	p->left = ++l->evicted;
	l->cached--;
}

/* True: a refault, of this distance. */
static bool look_up(struct lru *l, uint32_t page, uint32_t *ret_distance)
{
	struct lru_page *p = &l->pages[page];
	bool refault = p->known && !p->cached;

	if (p->cached)
		unlink_page(l, page);
	/* The distance is read when the page comes in: room was made for it before. */
	else if (l->cached == l->room)
		leave(l, l->pages[l->ends].newer);
	if (refault)
		*ret_distance = l->evicted - p->left;
	l->cached += !p->cached;
	p->cached = p->known = true;
	link_newest(l, page);
	return refault;
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void summarize(uint32_t distances[], uint32_t nr, struct refault_model *ret)
{
	double sum = 0;

	*ret = (struct refault_model){.refaults = nr};
	if (!nr)
		return;
	for (uint32_t i = 0; i < nr; i++)
		sum += distances[i];
	qsort(distances, nr, sizeof(*distances), by_size);
	ret->mean_distance = sum / nr;
	nr /= 2;
	ret->median = distances[nr];
}

int refault_simulate(const struct curve_sample *s, uint32_t cache_pages, struct refault_model *ret)
{
	struct lru l = {.ends = s->nr_pages, .room = cache_pages};
	uint32_t *distances = malloc((s->nr_entries + 1) * sizeof(*distances));
	uint32_t nr = 0;

	l.pages = calloc((size_t)s->nr_pages + 1, sizeof(*l.pages));
	if (!distances || !l.pages) {
		free(distances);
		free(l.pages);
		return -ENOMEM;
	}
	l.pages[l.ends].newer = l.pages[l.ends].older = l.ends;
	for (size_t i = 0; i < s->nr_entries; i++) {
		uint32_t page = curve_entry_page(s->entries[i]);

		if (!curve_entry_removed(s->entries[i]))
			nr += look_up(&l, page, &distances[nr]);
		else if (l.pages[page].cached)
			leave(&l, page);
	}
	summarize(distances, nr, ret);
	free(distances);
	free(l.pages);
	return 0;
}
