/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/coverage.h"

#include <errno.h>
#include <stdlib.h>

enum page_bit {
	PAGE_READ = 1 << 0,   /* read at least once */
	PAGE_CACHED = 1 << 1, /* its arrival was seen */
	PAGE_ASKED = 1 << 2,  /* brought by a read that missed it, as far as is known */
	PAGE_UNUSED = 1 << 3, /* prefetched and not read since */
};

void coverage_divide(struct coverage *c, uint64_t file_pages)
{
	*c = (struct coverage){.file_pages = file_pages};
	c->part_pages = (file_pages + COVERAGE_PARTS - 1) / COVERAGE_PARTS;
	if (c->part_pages)
		c->nr_parts = (size_t)((file_pages + c->part_pages - 1) / c->part_pages);
}

static uint64_t pages_of_bytes(uint64_t bytes, uint64_t page_bytes)
{
	return bytes / page_bytes + (bytes % page_bytes != 0);
}

static void extend_file(uint64_t *file_pages, uint64_t pages)
{
	if (pages > *file_pages)
		*file_pages = pages;
}

void coverage_reach(uint64_t *file_pages, const struct trace_event *e, uint64_t page_bytes)
{
	/* A read may ask for bytes past the end of the file, but returns none of them. */
	if (e->kind == TRACE_OPEN || e->kind == TRACE_SIZE)
		extend_file(file_pages, pages_of_bytes(e->pos, page_bytes));
	else if ((e->kind == TRACE_ADD || e->kind == TRACE_REMOVE) && e->pos + e->len >= e->pos)
		extend_file(file_pages, e->pos + e->len);
}

int coverage_begin(struct coverage_pages *p, struct coverage *c, uint64_t page_bytes,
		   uint64_t size_bytes)
{
	if (c->file_pages > COVERAGE_PAGES_MAX)
		return -E2BIG;
	*p = (struct coverage_pages){.c = c, .page_bytes = page_bytes, .size_bytes = size_bytes};
	p->pages = calloc(c->file_pages + 1, 1);
	return p->pages ? 0 : -ENOMEM;
}

static size_t part_of(const struct coverage *c, uint64_t page)
{
	return (size_t)(page / c->part_pages);
}

static void page_read(struct coverage_pages *p, uint64_t page)
{
	uint8_t *is = &p->pages[page];

	if (!(*is & PAGE_READ))
		p->c->read[part_of(p->c, page)]++;
	*is |= PAGE_READ;
	if (!(*is & PAGE_CACHED))
		*is |= PAGE_ASKED;
	*is &= (uint8_t)~PAGE_UNUSED;
}

static void page_add(struct coverage_pages *p, uint64_t page, uint32_t flags)
{
	uint8_t *is = &p->pages[page];

	if (!(*is & PAGE_ASKED) && !(flags & TRACE_BY_WRITE))
		*is |= PAGE_UNUSED;
	*is |= PAGE_CACHED;
	*is &= (uint8_t)~PAGE_ASKED;
}

static void page_remove(struct coverage_pages *p, uint64_t page)
{
	uint8_t *is = &p->pages[page];
	size_t part = part_of(p->c, page);

	p->c->evicted[part]++;
	if (*is & PAGE_UNUSED)
		p->c->evicted_unused[part]++;
	*is &= PAGE_READ;
}

/* The first page that counts, and the page after the last one. */
static void whole_pages(struct coverage_pages *p, uint64_t first, uint64_t nr, uint64_t *ret_first,
			uint64_t *ret_end)
{
	uint64_t end = first + nr < first ? UINT64_MAX : first + nr;

	*ret_first = first;
	*ret_end = end < p->c->file_pages ? end : p->c->file_pages;
	if (*ret_end > first)
		p->work += *ret_end - first;
	if (p->work > COVERAGE_WORK_MAX)
		*ret_end = 0;
}

static void bytes_read(struct coverage_pages *p, uint64_t pos, uint64_t len)
{
	uint64_t end = pos + len < pos ? UINT64_MAX : pos + len;
	uint64_t first;

	if (end > p->size_bytes)
		end = p->size_bytes;
	if (pos >= end)
		return;
	whole_pages(p, pos / p->page_bytes,
		    pages_of_bytes(end, p->page_bytes) - pos / p->page_bytes, &first, &end);
	for (; first < end; first++)
		page_read(p, first);
}

/* A load from a mapping leaves no event, so nothing is known about the pages around the touch. */
static void pages_mapped(struct coverage_pages *p, const struct trace_event *e)
{
	uint64_t first, end;

	whole_pages(p, e->pos, e->len, &first, &end);
	for (; first < end; first++)
		p->pages[first] &= (uint8_t)~PAGE_UNUSED;
	if (e->map.touched && e->map.touched - 1 < p->c->file_pages)
		page_read(p, e->map.touched - 1);
}

void coverage_event(struct coverage_pages *p, const struct trace_event *e)
{
	uint64_t first = 0, end = 0;

	if (e->kind == TRACE_ADD || e->kind == TRACE_REMOVE)
		whole_pages(p, e->pos, e->len, &first, &end);
	switch (e->kind) {
	case TRACE_OPEN:
	case TRACE_SIZE:
		p->size_bytes = e->pos;
		break;
	case TRACE_READ:
		bytes_read(p, e->pos, e->len);
		break;
	case TRACE_FAULT:
		if (e->pos < p->c->file_pages)
			page_read(p, e->pos);
		break;
	case TRACE_MAP:
		pages_mapped(p, e);
		break;
	case TRACE_ADD:
		for (; first < end; first++)
			page_add(p, first, e->flags);
		break;
	case TRACE_REMOVE:
		for (; first < end; first++)
			page_remove(p, first);
		break;
	default:
		break;
	}
}

int coverage_end(struct coverage_pages *p)
{
	for (uint64_t page = 0; page < p->c->file_pages; page++)
		if (p->pages[page] & PAGE_UNUSED)
			p->c->resident_unused[part_of(p->c, page)]++;
	free(p->pages);
	p->pages = NULL;
	return p->work > COVERAGE_WORK_MAX ? -E2BIG : 0;
}

void coverage_of_sample(struct coverage *c, const uint64_t pages[COVERAGE_PARTS],
			uint64_t threshold)
{
	for (size_t i = 0; i < c->nr_parts && threshold; i++) {
		uint64_t first = i * c->part_pages;
		uint64_t has = c->file_pages - first < c->part_pages ? c->file_pages - first
								     : c->part_pages;
		/* The product cannot overflow: a sample has few pages, and the threshold is at
		 * most 2^32. */
		uint64_t estimate = ((pages[i] << 32) + threshold / 2) / threshold;

		c->read[i] = estimate < has ? estimate : has;
	}
}
