/* SPDX-License-Identifier: BSD-2-Clause */
#include "readahead/pages.h"

#include <stdlib.h>
#include <string.h>

enum {
	RA_CHUNK = 4096,
	/* of the byte of a page */
	ORDER_BITS = 0x0f,
	UNUSED = 0x20,
	MARKED = 0x40, /* on a folio's first page */
	CACHED = 0x80,
};

void ra_pages_free(struct ra_pages *p)
{
	for (size_t i = 0; i < p->nr_chunks; i++)
		free(p->chunks[i]);
	free(p->chunks);
	memset(p, 0, sizeof(*p));
}

static uint8_t flags_of(const struct ra_pages *p, uint64_t page)
{
	uint64_t chunk = page / RA_CHUNK;

	if (chunk >= p->nr_chunks || !p->chunks[chunk])
		return 0;
	return p->chunks[chunk][page % RA_CHUNK];
}

static uint8_t *room_for(struct ra_pages *p, uint64_t page)
{
	uint64_t chunk = page / RA_CHUNK;

	if (chunk >= p->nr_chunks) {
		size_t nr = p->nr_chunks ? p->nr_chunks : 16;
		uint8_t **more;

		while (nr <= chunk)
			nr *= 2;
		more = realloc(p->chunks, nr * sizeof(*more));
		if (!more) {
			p->failed = true;
			return NULL;
		}
		memset(more + p->nr_chunks, 0, (nr - p->nr_chunks) * sizeof(*more));
		p->chunks = more;
		p->nr_chunks = nr;
	}
	if (!p->chunks[chunk]) {
		p->chunks[chunk] = calloc(RA_CHUNK, 1);
		if (!p->chunks[chunk]) {
			p->failed = true;
			return NULL;
		}
	}
	return &p->chunks[chunk][page % RA_CHUNK];
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
	p->chunks[page / RA_CHUNK][page % RA_CHUNK] &= (uint8_t)~UNUSED;
	return true;
}

/* The pages of a folio stand alone from now on; the mark stays on the first. */
static void split(struct ra_pages *p, uint64_t page)
{
	uint64_t head = ra_pages_head(p, page), nr = 1ULL << ra_pages_order(p, page);

	for (uint64_t i = head; i < head + nr; i++)
		p->chunks[i / RA_CHUNK][i % RA_CHUNK] &= (uint8_t)~ORDER_BITS;
}

void ra_pages_remove(struct ra_pages *p, uint64_t page)
{
	if (!ra_pages_cached(p, page))
		return;
	split(p, page);
	p->chunks[page / RA_CHUNK][page % RA_CHUNK] = 0;
}

uint64_t ra_pages_remove_from(struct ra_pages *p, uint64_t page)
{
	uint64_t unused = 0;

	if (ra_pages_cached(p, page))
		split(p, page);
	for (; page < p->nr_chunks * (uint64_t)RA_CHUNK; page++) {
		if (!p->chunks[page / RA_CHUNK]) {
			page |= RA_CHUNK - 1;
			continue;
		}
		unused += ra_pages_unused(p, page);
		p->chunks[page / RA_CHUNK][page % RA_CHUNK] = 0;
	}
	return unused;
}

uint64_t ra_pages_count_unused(const struct ra_pages *p)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < p->nr_chunks; i++)
		for (size_t j = 0; p->chunks[i] && j < RA_CHUNK; j++)
			nr += !!(p->chunks[i][j] & UNUSED);
	return nr;
}
