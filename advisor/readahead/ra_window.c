/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_window.h"

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

/* A request that is larger than windows may be as large as the device takes at once. */
static uint64_t limit_of(const struct ra_file *f, const struct ra_stream *s, uint64_t asked)
{
	if (asked > s->ra_pages && f->io_pages > s->ra_pages)
		return asked < f->io_pages ? asked : f->io_pages;
	return s->ra_pages;
}

static bool sequential(const struct ra_stream *s, uint64_t page)
{
	return page - ((uint64_t)s->prev_pos >> RA_PAGE_SHIFT) <= 1;
}

static struct ra_search forward(const struct ra_file *f)
{
	return (struct ra_search){f->kernel->search_lags, f->kernel->next_full_is_last};
}

static struct ra_search backward(const struct ra_file *f)
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

		ra_submit_singly(f, page, nr, 0);
		page += nr;
		asked -= nr;
	}
}

/* A run of cached pages before a miss tells of a stream, if it is longer than what is asked for. */
static bool window_by_context(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked,
			      uint64_t limit)
{
	bool from_start;
	uint64_t run = ra_pages_run_before(&f->pages, page - 1, limit, backward(f), &from_start);

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

/* The window before may be larger than the limit: that of a request of more than a window. */
static void window_next(const struct ra_file *f, struct ra_stream *s, uint64_t limit)
{
	uint64_t size = next_size(s->size, limit);

	s->start += s->size;
	if (size > s->size || !f->kernel->never_shrinks)
		s->size = size;
	s->async_size = s->size;
}

/* Another stream's: where it ends is looked for. */
static bool window_by_hole(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked,
			   uint64_t limit)
{
	uint64_t hole = ra_pages_next_hole(&f->pages, page + 1, limit, forward(f));

	ra_pages_spend(&f->pages, hole - page);
	if (hole - page > limit)
		return false;
	s->start = hole;
	s->size = next_size(hole - page + asked, limit);
	s->async_size = s->size;
	return true;
}

/* The window would hit its own mark at once: it is joined with the one behind it. */
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

/* Misses and marker hits of kernels that have one function for both. */
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
	} else if (asked > limit || sequential(s, page)) {
		window_initial(f, s, page, asked, limit);
	} else if (!window_by_context(f, s, page, asked, limit)) {
		ra_submit_singly(f, page, asked, 0);
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
	if (page == 0 || asked > limit || sequential(s, page)) {
		window_initial(f, s, page, asked, limit);
	} else if (!window_by_context(f, s, page, asked, limit)) {
		ra_submit_singly(f, page, asked, 0);
		return;
	}
	s->order = 0;
	ra_submit(f, s, 0);
}

/* A window's end that is no multiple of its folios would end in small ones. */
static void round_end(struct ra_stream *s, uint64_t limit)
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
		round_end(s, limit);
		s->async_size = s->size;
	}
	ra_submit(f, s, order);
}
