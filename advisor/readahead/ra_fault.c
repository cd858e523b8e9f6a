/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_window.h"

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

static void fault(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m, uint64_t page)
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
		fault(f, s, m, page);
		map_around(f, s, m, page, true);
	}
	ra_access_end(f);
	return asked;
}
