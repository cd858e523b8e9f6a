/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RA_CHUNK = 4096,
	/* bits of the byte of a page */
	ORDER_BITS = 0x0f,
	UNUSED = 0x20,
	MARKED = 0x40, /* only on the first page of a folio */
	CACHED = 0x80,
};

/* Limits, above what a trace of at most a million accesses needs: 64 TiB of a file; 512 GiB of it
 * touched, or 32,768 places; a few seconds of replay. */
enum { CHUNKS_MAX = 1 << 22, CHUNKS_THERE_MAX = 1 << 15, SPENT_MAX = 1 << 28 };

struct ra_chunk {
	uint16_t nr_cached;
	uint8_t page[RA_CHUNK];
};

void ra_pages_free(struct ra_pages *p)
{
	for (size_t i = 0; i < p->nr_chunks; i++)
		free(p->chunks[i]);
	free(p->chunks);
	memset(p, 0, sizeof(*p));
}

bool ra_pages_spend(struct ra_pages *p, uint64_t nr)
{
	if (nr > SPENT_MAX - p->spent && !p->error)
		p->error = -E2BIG;
	if (!p->error)
		p->spent += nr;
	return !p->error;
}

static uint8_t flags_of(const struct ra_pages *p, uint64_t page)
{
	uint64_t chunk = page / RA_CHUNK;

	if (chunk >= p->nr_chunks || !p->chunks[chunk])
		return 0;
	return p->chunks[chunk]->page[page % RA_CHUNK];
}

static int grow_chunks(struct ra_pages *p, uint64_t chunk)
{
	size_t nr = p->nr_chunks ? p->nr_chunks : 16;
	struct ra_chunk **more;

	if (chunk >= CHUNKS_MAX)
		return -E2BIG;
	while (nr <= chunk)
		nr *= 2;
	more = realloc(p->chunks, nr * sizeof(void *));
	if (!more)
		return -ENOMEM;
	memset(more + p->nr_chunks, 0, (nr - p->nr_chunks) * sizeof(void *));
	p->chunks = more;
	p->nr_chunks = nr;
	return 0;
}

static int make_chunk(struct ra_pages *p, uint64_t chunk)
{
	int error = chunk < p->nr_chunks ? 0 : grow_chunks(p, chunk);

	if (error || p->chunks[chunk])
		return error;
	if (p->nr_there == CHUNKS_THERE_MAX)
		return -E2BIG;
	p->chunks[chunk] = calloc(1, sizeof(**p->chunks));
	p->nr_there += p->chunks[chunk] != NULL;
	return p->chunks[chunk] ? 0 : -ENOMEM;
}

static uint8_t *room_for(struct ra_pages *p, uint64_t page)
{
	uint64_t chunk = page / RA_CHUNK;

	if (!p->error)
		p->error = make_chunk(p, chunk);
	return p->error ? NULL : &p->chunks[chunk]->page[page % RA_CHUNK];
}

bool ra_pages_cached(const struct ra_pages *p, uint64_t page)
{
	return flags_of(p, page) & CACHED;
}

unsigned int ra_pages_order(const struct ra_pages *p, uint64_t page)
{
	return flags_of(p, page) & ORDER_BITS;
}

uint64_t ra_pages_head(const struct ra_pages *p, uint64_t page)
{
	return page >> ra_pages_order(p, page) << ra_pages_order(p, page);
}

uint64_t ra_pages_folio_end(const struct ra_pages *p, uint64_t page)
{
	return ra_pages_head(p, page) + (1ULL << ra_pages_order(p, page));
}

bool ra_pages_marked(const struct ra_pages *p, uint64_t page)
{
	return flags_of(p, ra_pages_head(p, page)) & MARKED;
}

void ra_pages_unmark(struct ra_pages *p, uint64_t page)
{
	uint8_t *flags = room_for(p, ra_pages_head(p, page));

	if (flags)
		*flags &= (uint8_t)~MARKED;
}

void ra_pages_add(struct ra_pages *p, uint64_t head, unsigned int order, bool marked)
{
	for (uint64_t i = 0; i < 1ULL << order; i++) {
		uint8_t *flags = room_for(p, head + i);

		if (!flags)
			return;
		p->chunks[(head + i) / RA_CHUNK]->nr_cached += !(*flags & CACHED);
		*flags = (uint8_t)(CACHED | order | (i == 0 && marked ? MARKED : 0));
	}
}

void ra_pages_set_unused(struct ra_pages *p, uint64_t page)
{
	uint8_t *flags = room_for(p, page);

	if (flags)
		*flags |= UNUSED;
}

bool ra_pages_unused(const struct ra_pages *p, uint64_t page)
{
	return flags_of(p, page) & UNUSED;
}

bool ra_pages_use(struct ra_pages *p, uint64_t page)
{
	if (!ra_pages_unused(p, page))
		return false;
	p->chunks[page / RA_CHUNK]->page[page % RA_CHUNK] &= (uint8_t)~UNUSED;
	return true;
}

/* Splits the folio into single pages; the mark stays on the first. */
static void split_folio(struct ra_pages *p, uint64_t page)
{
	uint64_t head = ra_pages_head(p, page), nr = 1ULL << ra_pages_order(p, page);

	for (uint64_t i = head; i < head + nr; i++)
		p->chunks[i / RA_CHUNK]->page[i % RA_CHUNK] &= (uint8_t)~ORDER_BITS;
}

/* A cached folio of one page. */
static void forget_page(struct ra_pages *p, uint64_t page)
{
	struct ra_chunk **chunk = &p->chunks[page / RA_CHUNK];

	(*chunk)->page[page % RA_CHUNK] = 0;
	if (--(*chunk)->nr_cached)
		return;
	free(*chunk);
	*chunk = NULL;
	p->nr_there--;
}

void ra_pages_remove(struct ra_pages *p, uint64_t page)
{
	if (!ra_pages_cached(p, page))
		return;
	split_folio(p, page);
	forget_page(p, page);
}

uint64_t ra_pages_remove_from(struct ra_pages *p, uint64_t page)
{
	uint64_t unused = 0;

	if (ra_pages_cached(p, page))
		split_folio(p, page);
	for (; (page = ra_pages_next_there(p, page)) != UINT64_MAX; page++) {
		if (!ra_pages_spend(p, 1))
			break;
		unused += ra_pages_unused(p, page);
		if (ra_pages_cached(p, page))
			forget_page(p, page);
	}
	return unused;
}

uint64_t ra_pages_next_there(const struct ra_pages *p, uint64_t page)
{
	for (uint64_t chunk = page / RA_CHUNK; chunk < p->nr_chunks; chunk++)
		if (p->chunks[chunk])
			return page > chunk * RA_CHUNK ? page : chunk * RA_CHUNK;
	return UINT64_MAX;
}

uint64_t ra_pages_count_unused(const struct ra_pages *p)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < p->nr_chunks; i++)
		for (size_t j = 0; p->chunks[i] && j < RA_CHUNK; j++)
			nr += !!(p->chunks[i]->page[j] & UNUSED);
	return nr;
}

/*
 * Walks the kernel's tree of pages (lib/xarray.c: xas_next, xas_prev). Nodes have 64 slots; a folio
 * of 64 pages or more is an entry one level up. The walk begins with a load, which goes to the slot
 * of the folio's first page but leaves the index unchanged. From there both advance by one, so that
 * the slot lags behind the index until a node ends and the slot is computed from the index again.
 */

enum { SLOTS = 64, SHIFT = 6 };

struct walk {
	const struct ra_pages *pages;
	uint64_t index;
	uint64_t slot; /* in pages, or in nodes one level up */
	bool upper;
};

static bool is_large(const struct ra_pages *p, uint64_t page)
{
	return ra_pages_cached(p, page) && ra_pages_order(p, page) >= SHIFT;
}

static bool load_slot(struct walk *w, bool lags)
{
	uint64_t head = w->index;

	if (!ra_pages_cached(w->pages, w->index))
		return false;
	if (lags)
		head = ra_pages_head(w->pages, w->index);
	w->upper = is_large(w->pages, w->index);
	w->slot = w->upper ? head >> SHIFT : head;
	return true;
}

static bool any_in(const struct ra_pages *p, uint64_t node)
{
	for (uint64_t i = 0; i < SLOTS; i++)
		if (ra_pages_cached(p, (node << SHIFT) + i))
			return true;
	return false;
}

/* The entry at a slot of the upper level, then down by the index. */
static bool descend(struct walk *w)
{
	w->upper = true;
	if (is_large(w->pages, w->slot << SHIFT))
		return true;
	if (!any_in(w->pages, w->slot))
		return false;
	w->upper = false;
	w->slot = (w->slot << SHIFT) + w->index % SLOTS;
	return ra_pages_cached(w->pages, w->slot);
}

static bool step_up(struct walk *w)
{
	w->index++;
	if (!w->upper && w->slot % SLOTS != SLOTS - 1)
		return ra_pages_cached(w->pages, ++w->slot);
	if (!w->upper) {
		if (w->index % SLOTS == SLOTS - 1)
			return ra_pages_cached(w->pages, w->slot);
		w->slot = (w->slot >> SHIFT) + 1;
	} else if (w->slot % SLOTS != (w->index >> SHIFT) % SLOTS) {
		w->slot++;
	} else {
		return descend(w);
	}
	/* After the last slot of the upper node, the index alone gives the way down. */
	if (w->slot % SLOTS == 0)
		w->slot = w->index >> SHIFT;
	return descend(w);
}

static bool step_down(struct walk *w)
{
	w->index--;
	if (!w->upper && w->slot % SLOTS)
		return ra_pages_cached(w->pages, --w->slot);
	if (!w->upper) {
		if (w->index % SLOTS == 0)
			return ra_pages_cached(w->pages, w->slot);
		if (w->slot == 0)
			return false;
		w->slot = (w->slot >> SHIFT) - 1;
	} else if (w->slot % SLOTS != (w->index >> SHIFT) % SLOTS) {
		if (w->slot == 0)
			return false;
		w->slot--;
	} else {
		return descend(w);
	}
	if (w->slot % SLOTS == SLOTS - 1)
		w->slot = w->index >> SHIFT;
	return descend(w);
}

uint64_t ra_pages_next_hole(const struct ra_pages *p, uint64_t page, uint64_t scan,
			    struct ra_search how)
{
	struct walk w = {.pages = p, .index = page};

	for (uint64_t i = 0; i < scan; i++) {
		if (!(i ? step_up(&w) : load_slot(&w, how.lags)))
			return w.index;
	}
	return how.full_is_last ? w.index : page + scan;
}

uint64_t ra_pages_run_before(const struct ra_pages *p, uint64_t page, uint64_t scan,
			     struct ra_search how, bool *ret_from_start)
{
	struct walk w = {.pages = p, .index = page};

	*ret_from_start = false;
	for (uint64_t i = 0; i < scan; i++) {
		if (i && w.index == 0) {
			*ret_from_start = true;
			return page + 1;
		}
		if (!(i ? step_down(&w) : load_slot(&w, how.lags)))
			return page - w.index;
	}
	return how.full_is_last ? page - w.index : scan;
}
