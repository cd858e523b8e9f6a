/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_window.h"

#include <errno.h>
#include <stdlib.h>

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

/* do_page_cache_ra: absent pages only, as single pages; sets the mark `ahead` pages before the
 * end. */
static void submit_singly(struct ra_file *f, uint64_t page, uint64_t nr, uint64_t ahead)
{
	uint64_t end = ra_file_nr_pages(f), mark;

	f->request_end = UINT64_MAX;
	if (page >= end)
		return;
	if (nr > end - page)
		nr = end - page;
	if (!ra_pages_spend(&f->pages, nr))
		return;
	/* Counted from the shortened end: a window with more lookahead than its length gets no
	 * mark. */
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

/* The order of a window's folios if nothing forbids it. */
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

/* A cached page prevents the folio. */
static bool is_blocked(const struct ra_file *f, uint64_t first, unsigned int order)
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
		submit_singly(f, page, s->size, s->async_size);
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

		if (is_blocked(f, page, o)) {
			if (f->kernel->overshoots)
				submit_singly(f, page, s->size, s->async_size);
			else
				submit_singly(f, page, s->size - (page - s->start), s->async_size);
			return;
		}
		ra_add(f, page, o, page == mark >> o << o);
		page += 1ULL << o;
	}
}

enum { FORCE_CHUNK = 512 };

static uint64_t power_of_two_from(uint64_t n)
{
	uint64_t r = 1;

	while (r < n)
		r *= 2;
	return r;
}

static uint64_t initial_size(uint64_t asked, uint64_t limit)
{
	uint64_t size = power_of_two_from(asked);

	if (size <= limit / 32)
		return 4 * size;
	if (size <= limit / 4)
		return 2 * size;
	return limit;
}

static uint64_t next_size(uint64_t size, uint64_t limit)
{
	if (size < limit / 16)
		return 4 * size;
	if (size <= limit / 2)
		return 2 * size;
	return limit;
}

/* A request that exceeds the window size may be as large as one request of the device. */
static uint64_t limit_of(const struct ra_file *f, const struct ra_stream *s, uint64_t asked)
{
	if (asked > s->ra_pages && f->io_pages > s->ra_pages)
		return asked < f->io_pages ? asked : f->io_pages;
	return s->ra_pages;
}

static bool is_sequential(const struct ra_stream *s, uint64_t page)
{
	return page - ((uint64_t)s->prev_pos >> RA_PAGE_SHIFT) <= 1;
}

static struct ra_search search_forward(const struct ra_file *f)
{
	return (struct ra_search){f->kernel->search_lags, f->kernel->next_full_is_last};
}

static struct ra_search search_backward(const struct ra_file *f)
{
	return (struct ra_search){f->kernel->search_lags, f->kernel->prev_full_is_last};
}

void ra_force(struct ra_file *f, const struct ra_stream *s, uint64_t page, uint64_t asked)
{
	uint64_t most = f->io_pages > s->ra_pages ? f->io_pages : s->ra_pages;

	if (asked > most)
		asked = most;
	while (asked) {
		uint64_t nr = asked < FORCE_CHUNK ? asked : FORCE_CHUNK;

		submit_singly(f, page, nr, 0);
		page += nr;
		asked -= nr;
	}
}

/* A run of cached pages before a miss suggests a stream if it is longer than the request. */
static bool window_by_context(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked,
			      uint64_t limit)
{
	bool from_start;
	uint64_t run =
		ra_pages_run_before(&f->pages, page - 1, limit, search_backward(f), &from_start);

	ra_pages_spend(&f->pages, run);
	if (run <= asked)
		return false;
	if (f->kernel->one_body ? run >= page : from_start)
		run *= 2;
	s->start = page;
	s->size = run + asked < limit ? run + asked : limit;
	s->async_size = 1;
	return true;
}

static void window_initial(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked,
			   uint64_t limit)
{
	s->start = page;
	s->size = initial_size(asked, limit);
	if (s->size > asked)
		s->async_size = s->size - asked;
	else
		s->async_size = f->kernel->one_body ? s->size : s->size / 2;
}

/* The previous window may exceed the limit if its request did. */
static void window_next(const struct ra_file *f, struct ra_stream *s, uint64_t limit)
{
	uint64_t size = next_size(s->size, limit);

	s->start += s->size;
	if (size > s->size || !f->kernel->never_shrinks)
		s->size = size;
	s->async_size = s->size;
}

/* The mark belongs to another stream: finds the end of its window. */
static bool window_by_hole(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked,
			   uint64_t limit)
{
	uint64_t hole = ra_pages_next_hole(&f->pages, page + 1, limit, search_forward(f));

	ra_pages_spend(&f->pages, hole - page);
	if (hole - page > limit)
		return false;
	s->start = hole;
	s->size = next_size(hole - page + asked, limit);
	s->async_size = s->size;
	return true;
}

/* The window would hit its own mark at once, so it is joined with the next one. */
static void join_with_next(struct ra_stream *s, uint64_t page, uint64_t limit)
{
	uint64_t more;

	if (page != s->start || s->size != s->async_size)
		return;
	more = next_size(s->size, limit);
	if (s->size + more <= limit) {
		s->async_size = more;
		s->size += more;
	} else {
		s->size = limit;
		s->async_size = limit / 2;
	}
}

/* Misses and marker hits, for kernels that have one function for both. */
static void on_demand(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked,
		      bool marked, unsigned int order)
{
	uint64_t limit = limit_of(f, s, asked);
	uint64_t expected = (s->start + s->size - s->async_size) >> order << order;

	if (page == 0) {
		window_initial(f, s, page, asked, limit);
	} else if (page == expected || page == s->start + s->size) {
		window_next(f, s, limit);
	} else if (marked) {
		if (!window_by_hole(f, s, page, asked, limit))
			return;
	} else if (asked > limit || is_sequential(s, page)) {
		window_initial(f, s, page, asked, limit);
	} else if (!window_by_context(f, s, page, asked, limit)) {
		submit_singly(f, page, asked, 0);
		return;
	}
	join_with_next(s, page, limit);
	ra_submit(f, s, order);
}

void ra_sync(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked)
{
	uint64_t limit = limit_of(f, s, asked);

	if (!s->ra_pages || s->random) {
		ra_force(f, s, page, s->ra_pages ? asked : 1);
		return;
	}
	if (f->kernel->one_body) {
		on_demand(f, s, page, asked, false, 0);
		return;
	}
	if (page == 0 || asked > limit || is_sequential(s, page)) {
		window_initial(f, s, page, asked, limit);
	} else if (!window_by_context(f, s, page, asked, limit)) {
		submit_singly(f, page, asked, 0);
		return;
	}
	s->order = 0;
	ra_submit(f, s, 0);
}

/* A window whose end is not aligned to its folios would end in small ones. */
static void round_window_end(struct ra_stream *s, uint64_t limit)
{
	unsigned int order = s->order, most = (unsigned int)__builtin_ctzll(limit);
	uint64_t end = s->start + s->size;

	if (order > most)
		order = most;
	end = end >> order << order;
	if (end > s->start)
		s->size = end - s->start;
}

void ra_async(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked)
{
	unsigned int order = ra_pages_order(&f->pages, page);
	uint64_t limit;

	if (!s->ra_pages)
		return;
	ra_pages_unmark(&f->pages, page);
	if (f->kernel->one_body) {
		on_demand(f, s, page, asked, true, order);
		return;
	}
	limit = limit_of(f, s, asked);
	if (page == (s->start + s->size - s->async_size) >> order << order) {
		window_next(f, s, limit);
	} else if (!window_by_hole(f, s, page, asked, limit)) {
		return;
	}
	if (f->kernel->round_end) {
		s->order += 2;
		round_window_end(s, limit);
		s->async_size = s->size;
	}
	ra_submit(f, s, order);
}
