/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_model.h"

#include <stdlib.h>
#include <string.h>

#include "advisor/readahead/ra_window.h"

void ra_file_init(struct ra_file *f, const struct ra_kernel *kernel, uint64_t size_bytes,
		  unsigned int max_order, uint32_t io_pages, uint32_t device_pages)
{
	memset(f, 0, sizeof(*f));
	f->kernel = kernel;
	f->size_bytes = size_bytes;
	f->max_order = max_order < RA_MAX_ORDER ? max_order : RA_MAX_ORDER;
	f->io_pages = io_pages;
	f->device_pages = device_pages;
}

void ra_file_free(struct ra_file *f)
{
	ra_pages_free(&f->pages);
	free(f->adds);
	f->adds = NULL;
	f->nr_adds = f->room_adds = 0;
}

uint64_t ra_file_nr_pages(const struct ra_file *f)
{
	return f->size_bytes / RA_PAGE_BYTES + !!(f->size_bytes % RA_PAGE_BYTES);
}

uint64_t ra_file_wasted(const struct ra_file *f)
{
	return f->totals.wasted_pages + ra_pages_count_unused(&f->pages);
}

void ra_stream_init(struct ra_stream *s, const struct ra_file *f)
{
	memset(s, 0, sizeof(*s));
	s->ra_pages = f->device_pages;
	s->prev_pos = -1;
}

void ra_access_begin(struct ra_file *f, uint64_t first, uint64_t end)
{
	f->asked_first = first;
	f->asked_end = end;
	f->request_end = UINT64_MAX;
	if (first < end && !ra_pages_spend(&f->pages, end - first))
		return;
	for (uint64_t page = first; page < end; page++) {
		f->totals.lookups++;
		if (!ra_pages_cached(&f->pages, page))
			f->totals.misses++;
		else
			ra_pages_use(&f->pages, page);
	}
}

void ra_access_end(struct ra_file *f)
{
	f->totals.windows += f->nr_adds > 0;
	f->asked_first = f->asked_end = 0;
}

void ra_resize(struct ra_file *f, uint64_t size_bytes)
{
	f->nr_adds = 0;
	if (size_bytes < f->size_bytes)
		f->totals.wasted_pages += ra_pages_remove_from(
			&f->pages, (size_bytes + RA_PAGE_BYTES - 1) >> RA_PAGE_SHIFT);
	f->size_bytes = size_bytes;
}

void ra_remove(struct ra_file *f, uint64_t first, uint64_t nr)
{
	f->nr_adds = 0;
	if (!ra_pages_spend(&f->pages, nr))
		return;
	for (uint64_t page = first; page < first + nr; page++) {
		f->totals.wasted_pages += ra_pages_unused(&f->pages, page);
		ra_pages_remove(&f->pages, page);
	}
}

/* Folios that lie completely in the range. */
static void drop_folios(struct ra_file *f, uint64_t first, uint64_t end)
{
	while ((first = ra_pages_next_there(&f->pages, first)) < end &&
	       ra_pages_spend(&f->pages, 1)) {
		uint64_t head = ra_pages_head(&f->pages, first);
		uint64_t next = head + (1ULL << ra_pages_order(&f->pages, first));

		if (head == first && next <= end)
			ra_remove(f, first, next - first);
		first = next;
	}
}

void ra_advise(struct ra_file *f, struct ra_stream *s, enum ra_advice advice, uint64_t offset,
	       uint64_t length)
{
	uint64_t nr_pages = ra_file_nr_pages(f), end = UINT64_MAX, last;

	if (length && length <= UINT64_MAX - offset)
		end = offset + length;
	f->nr_adds = 0;
	switch (advice) {
	case RA_ADVICE_NORMAL:
	case RA_ADVICE_SEQUENTIAL:
		s->ra_pages = f->device_pages * (advice == RA_ADVICE_SEQUENTIAL ? 2 : 1);
		s->random = false;
		break;
	case RA_ADVICE_RANDOM:
		s->random = true;
		break;
	case RA_ADVICE_WILLNEED:
		last = (end - 1) >> RA_PAGE_SHIFT;
		ra_access_begin(f, 0, 0);
		ra_force(f, s, offset >> RA_PAGE_SHIFT, last - (offset >> RA_PAGE_SHIFT) + 1);
		ra_access_end(f);
		break;
	case RA_ADVICE_DONTNEED:
		last = end >= f->size_bytes ? nr_pages : end >> RA_PAGE_SHIFT;
		drop_folios(f, (offset + RA_PAGE_BYTES - 1) >> RA_PAGE_SHIFT, last);
		break;
	}
}

enum { AROUND_PAGES = 16, TABLE_PAGES = 512, MISS_MOST = 1000, MISS_LOTS = 100 };

void ra_fault_around(const struct ra_file *f, const struct ra_mapping *m, uint64_t page,
		     uint64_t *ret_first, uint64_t *ret_end)
{
	uint64_t address = m->address_page + (page - m->first_page);
	uint64_t first = address - address % AROUND_PAGES, end;

	if (first < m->address_page)
		first = m->address_page;
	end = first + AROUND_PAGES;
	if (end > address - address % TABLE_PAGES + TABLE_PAGES)
		end = address - address % TABLE_PAGES + TABLE_PAGES;
	if (end > m->address_page + m->nr_pages)
		end = m->address_page + m->nr_pages;
	*ret_first = first - m->address_page + m->first_page;
	*ret_end = end - m->address_page + m->first_page;
	if (*ret_end > ra_file_nr_pages(f))
		*ret_end = ra_file_nr_pages(f);
}

bool ra_mappable(const struct ra_file *f, uint64_t page)
{
	return ra_pages_cached(&f->pages, page) && !ra_pages_marked(&f->pages, page);
}

static void forget_misses(struct ra_stream *s, unsigned int nr)
{
	s->mmap_miss = s->mmap_miss > nr ? s->mmap_miss - nr : 0;
}

/* True: the page is mapped. */
static bool map_around(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m,
		       uint64_t page, bool again)
{
	bool mapped = ra_mappable(f, page);
	uint64_t first, end;
	unsigned int visited = 0;

	ra_fault_around(f, m, page, &first, &end);
	for (uint64_t i = first; i < end; i++)
		visited += ra_mappable(f, i);
	if (f->kernel->mmap_miss == RA_MISS_VISITED)
		forget_misses(s, visited);
	else if (mapped && !again)
		forget_misses(s, 1);
	return mapped;
}

static void window_around(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m,
			  uint64_t page)
{
	uint64_t end = m->first_page + m->nr_pages;

	if (m->exec && f->kernel->exec_window) {
		s->start = page;
		s->size = end - page < s->ra_pages ? end - page : s->ra_pages;
		s->async_size = 0;
	} else {
		s->start = page > s->ra_pages / 2 ? page - s->ra_pages / 2 : 0;
		s->size = s->ra_pages;
		s->async_size = s->ra_pages / 4;
	}
	s->order = 0;
	ra_submit(f, s, 0);
}

static void fault_missing(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m,
			  uint64_t page)
{
	bool random = m->random && !(m->exec && f->kernel->exec_window);

	if (random || !s->ra_pages)
		return;
	if (m->sequential) {
		ra_sync(f, s, page, s->ra_pages);
		return;
	}
	if (m->exec && f->kernel->exec_uncounted) {
		window_around(f, s, m, page);
		return;
	}
	if (s->mmap_miss < MISS_MOST)
		s->mmap_miss++;
	if (s->mmap_miss <= MISS_LOTS)
		window_around(f, s, m, page);
}

static void fault_page(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m,
		       uint64_t page)
{
	if (ra_pages_cached(&f->pages, page)) {
		if (m->random || !s->ra_pages)
			return;
		forget_misses(s, 1);
		if (ra_pages_marked(&f->pages, page))
			ra_async(f, s, page, s->ra_pages);
		return;
	}
	f->totals.stalls++;
	fault_missing(f, s, m, page);
	if (!ra_pages_cached(&f->pages, page)) {
		f->request_end = UINT64_MAX;
		ra_add(f, page, 0, false);
	}
}

bool ra_touch(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m, uint64_t page)
{
	bool asked;

	f->nr_adds = 0;
	if (page >= ra_file_nr_pages(f))
		return false;
	ra_access_begin(f, page, page + 1);
	asked = !map_around(f, s, m, page, false);
	if (asked) {
		fault_page(f, s, m, page);
		map_around(f, s, m, page, true);
	}
	ra_access_end(f);
	return asked;
}
