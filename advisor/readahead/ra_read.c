/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_read.h"

#include "advisor/readahead/ra_window.h"

/* The position of the call after everything before `page` was copied. */
static uint64_t copied_to(const struct ra_file *f, uint64_t end_pos, uint64_t page)
{
	uint64_t at = page << RA_PAGE_SHIFT;

	if (at > end_pos)
		at = end_pos;
	return at < f->size_bytes ? at : f->size_bytes;
}

static void remember_position(const struct ra_file *f, struct ra_stream *s, uint64_t end_pos)
{
	uint64_t at = end_pos < f->size_bytes ? end_pos : f->size_bytes;

	if (f->kernel->prev_pos == RA_PREV_LAST_READ)
		at = (at - 1) >> RA_PAGE_SHIFT << RA_PAGE_SHIFT | at % RA_PAGE_BYTES;
	s->prev_pos = (int64_t)at;
}

/* The range in which a read looks for pages: [first, returned value). */
static uint64_t last_looked_at(const struct ra_file *f, uint64_t pos, uint64_t asked_end)
{
	uint64_t end = ra_file_nr_pages(f);

	if (f->kernel->asks_past_end) {
		if (pos >= f->size_bytes)
			return (pos >> RA_PAGE_SHIFT) + 1;
		end += f->size_bytes % RA_PAGE_BYTES == 0;
	}
	return end < asked_end ? end : asked_end;
}

/* Brings in the page if it is absent, with its window. True: the call waits for it. */
static bool bring_page(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked_end)
{
	bool waits = !ra_pages_cached(&f->pages, page);
	uint64_t head;

	if (waits) {
		f->totals.stalls++;
		ra_sync(f, s, page, asked_end - page);
	}
	if (!ra_pages_cached(&f->pages, page)) {
		f->request_end = UINT64_MAX;
		ra_add(f, page, 0, false);
	}
	head = ra_pages_head(&f->pages, page);
	if (ra_pages_marked(&f->pages, page))
		ra_async(f, s, head, asked_end - head);
	return waits;
}

/* Copies the folio at the position of the call, which is cached. */
static void copy_folio(struct ra_file *f, struct ra_stream *s, struct ra_call *c)
{
	uint64_t next = ra_pages_folio_end(&f->pages, c->page);

	for (; c->page < next && c->page < f->asked_end; c->page++)
		ra_pages_use(&f->pages, c->page);
	c->page = next;
	if (f->kernel->prev_pos == RA_PREV_NEXT_EACH)
		s->prev_pos = (int64_t)copied_to(f, c->end_pos, c->page);
}

/* Requests readahead at this page. */
static bool asks_readahead(const struct ra_file *f, uint64_t page)
{
	return !ra_pages_cached(&f->pages, page) || ra_pages_marked(&f->pages, page);
}

/* Runs to the second request for readahead, to a wait, or to the end. */
static void go_on_call(struct ra_file *f, struct ra_stream *s, struct ra_call *c)
{
	uint64_t asked_end = (c->end_pos + RA_PAGE_BYTES - 1) >> RA_PAGE_SHIFT;
	uint64_t end = last_looked_at(f, c->pos, asked_end);
	bool asked = false;

	if (c->looked_up)
		copy_folio(f, s, c);
	c->looked_up = false;
	c->under_way = true;
	while (c->page < end && ra_pages_spend(&f->pages, 1)) {
		if (asked && asks_readahead(f, c->page))
			return;
		asked |= asks_readahead(f, c->page);
		c->looked_up = bring_page(f, s, c->page, asked_end);
		if (c->looked_up)
			return;
		copy_folio(f, s, c);
	}
	c->under_way = false;
	if (c->pos < f->size_bytes)
		remember_position(f, s, c->end_pos);
}

bool ra_read_is_past(const struct ra_file *f, const struct ra_call *c, uint64_t page)
{
	return page >= (c->looked_up ? ra_pages_folio_end(&f->pages, c->page)
				     : ra_pages_head(&f->pages, c->page));
}

/* The requested pages within the file. */
static uint64_t asked_end_of(const struct ra_file *f, const struct ra_call *c)
{
	uint64_t end = (c->end_pos + RA_PAGE_BYTES - 1) >> RA_PAGE_SHIFT;

	return end < ra_file_nr_pages(f) ? end : ra_file_nr_pages(f);
}

/* Appends the new pages to the earlier ones. */
static void begin_call(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count,
		       struct ra_call *c)
{
	*c = (struct ra_call){.pos = pos, .page = pos >> RA_PAGE_SHIFT};
	if (pos >= INT64_MAX - RA_PAGE_BYTES)
		return;
	if (count > INT64_MAX - pos - RA_PAGE_BYTES)
		count = INT64_MAX - pos - RA_PAGE_BYTES;
	c->end_pos = pos + count;
	if (!count || (pos >= f->size_bytes && !f->kernel->asks_past_end))
		return;
	ra_access_begin(f, c->page, asked_end_of(f, c));
	go_on_call(f, s, c);
}

static void end_piece(struct ra_file *f, struct ra_call *c)
{
	bool brought = c->brought || f->nr_adds;

	f->totals.windows += brought && !c->under_way;
	c->brought = brought;
	f->asked_first = f->asked_end = 0;
}

void ra_read_begin(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count,
		   struct ra_call *ret)
{
	f->nr_adds = 0;
	begin_call(f, s, pos, count, ret);
	end_piece(f, ret);
}

void ra_read_go_on(struct ra_file *f, struct ra_stream *s, struct ra_call *c)
{
	f->nr_adds = 0;
	f->asked_first = c->pos >> RA_PAGE_SHIFT;
	f->asked_end = asked_end_of(f, c);
	go_on_call(f, s, c);
	end_piece(f, c);
}

static void read_whole(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count)
{
	struct ra_call c;

	begin_call(f, s, pos, count, &c);
	while (c.under_way)
		go_on_call(f, s, &c);
}

void ra_read(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count)
{
	f->nr_adds = 0;
	read_whole(f, s, pos, count);
	ra_access_end(f);
}
