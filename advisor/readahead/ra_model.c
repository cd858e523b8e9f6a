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

/* Folios that lie in the range as a whole. */
static void drop(struct ra_file *f, uint64_t first, uint64_t end)
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
		drop(f, (offset + RA_PAGE_BYTES - 1) >> RA_PAGE_SHIFT, last);
		break;
	}
}
