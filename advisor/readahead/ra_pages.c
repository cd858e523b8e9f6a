/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_pages.h"

#include <errno.h>
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

/*
 * A trace has a million accesses at most. 64 TiB of a file; 512 GiB of it touched, or 32,768 places
 * of it; a few seconds of replay.
 */
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

static int grow(struct ra_pages *p, uint64_t chunk)
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
	int error = chunk < p->nr_chunks ? 0 : grow(p, chunk);

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

/* The pages of a folio stand alone from now on; the mark stays on the first. */
static void split(struct ra_pages *p, uint64_t page)
{
	uint64_t head = ra_pages_head(p, page), nr = 1ULL << ra_pages_order(p, page);

	for (uint64_t i = head; i < head + nr; i++)
		p->chunks[i / RA_CHUNK]->page[i % RA_CHUNK] &= (uint8_t)~ORDER_BITS;
}

/* A cached page that stands alone. */
static void forget(struct ra_pages *p, uint64_t page)
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
	split(p, page);
	forget(p, page);
}

uint64_t ra_pages_remove_from(struct ra_pages *p, uint64_t page)
{
	uint64_t unused = 0;

	if (ra_pages_cached(p, page))
		split(p, page);
	for (; (page = ra_pages_next_there(p, page)) != UINT64_MAX; page++) {
		if (!ra_pages_spend(p, 1))
			break;
		unused += ra_pages_unused(p, page);
		if (ra_pages_cached(p, page))
			forget(p, page);
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
