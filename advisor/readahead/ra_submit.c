/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "advisor/readahead/ra_window.h"
#include "cachemon/base/vec.h"

static bool asked_for(const struct ra_file *f, uint64_t page)
{
	return page >= f->asked_first && page < f->asked_end;
}

void ra_add(struct ra_file *f, uint64_t first, unsigned int order, bool marked)
{
	uint64_t nr = 1ULL << order;

	if (!ra_pages_spend(&f->pages, nr))
		return;
	if (vec_reserve(f->adds, f->room_adds, f->nr_adds + 1)) {
		f->pages.error = -ENOMEM;
		return;
	}
	f->adds[f->nr_adds++] = (struct ra_add){first, (uint8_t)order, marked};
	ra_pages_add(&f->pages, first, order, marked);
	for (uint64_t page = first; page < first + nr; page++) {
		if (asked_for(f, page))
			f->totals.demand_pages++;
		else
			ra_pages_set_unused(&f->pages, page);
	}
	f->totals.added_pages += nr;
	if (first != f->request_end)
		f->totals.requests++;
	f->request_end = first + nr;
}

void ra_submit_singly(struct ra_file *f, uint64_t page, uint64_t nr, uint64_t ahead)
{
	uint64_t end = ra_file_nr_pages(f), mark;

	f->request_end = UINT64_MAX;
	if (page >= end)
		return;
	if (nr > end - page)
		nr = end - page;
	if (!ra_pages_spend(&f->pages, nr))
		return;
	/* From the end that was cut: a window with more lookahead than is left of it has no mark.
	 */
	mark = ahead <= nr ? page + nr - ahead : UINT64_MAX;
	for (uint64_t i = page; i < page + nr; i++) {
		if (!ra_pages_cached(&f->pages, i))
			ra_add(f, i, 0, i == mark);
	}
}

static unsigned int log2_of(uint64_t n)
{
	return n ? 63U - (unsigned int)__builtin_clzll(n) : 0;
}

/* The order that a window's folios have where nothing else speaks against it. */
static unsigned int window_order(const struct ra_file *f, const struct ra_stream *s,
				 unsigned int order)
{
	if (f->kernel->order == RA_ORDER_RAMP)
		order = s->order;
	else if (order < f->max_order)
		order += 2;
	if (order > f->max_order)
		order = f->max_order;
	return order < log2_of(s->size) ? order : log2_of(s->size);
}

static unsigned int order_at(const struct ra_file *f, uint64_t page, unsigned int order,
			     uint64_t last)
{
	if (page & ((1ULL << order) - 1))
		order = (unsigned int)__builtin_ctzll(page);
	if (order == 1 && f->kernel->no_order_1)
		order = 0;
	while (order && page + (1ULL << order) - 1 > last) {
		order--;
		if (order == 1 && f->kernel->no_order_1)
			order = 0;
	}
	return order;
}

/* A page that is cached lies in the way of the folio. */
static bool blocked(const struct ra_file *f, uint64_t first, unsigned int order)
{
	for (uint64_t page = first; page < first + (1ULL << order); page++)
		if (ra_pages_cached(&f->pages, page))
			return true;
	return false;
}

void ra_submit(struct ra_file *f, struct ra_stream *s, unsigned int order)
{
	uint64_t page = s->start, end = ra_file_nr_pages(f), last, mark;

	f->request_end = UINT64_MAX;
	if (f->kernel->order == RA_ORDER_NONE || f->max_order == 0 ||
	    (f->kernel->small_is_single && s->size < 4)) {
		if (f->max_order == 0)
			s->order = 0;
		ra_submit_singly(f, page, s->size, s->async_size);
		return;
	}
	order = window_order(f, s, order);
	if (f->kernel->order == RA_ORDER_RAMP)
		s->order = order;
	mark = s->start + s->size - s->async_size;
	if (!f->kernel->eof_marker && s->start + s->size >= end)
		mark = UINT64_MAX;
	last = s->start + s->size - 1 < end - 1 ? s->start + s->size - 1 : end - 1;
	while (end && page <= last && ra_pages_spend(&f->pages, 1)) {
		unsigned int o = order_at(f, page, order, last);

		if (blocked(f, page, o)) {
			if (f->kernel->overshoots)
				ra_submit_singly(f, page, s->size, s->async_size);
			else
				ra_submit_singly(f, page, s->size - (page - s->start),
						 s->async_size);
			return;
		}
		ra_add(f, page, o, page == mark >> o << o);
		page += 1ULL << o;
	}
}
