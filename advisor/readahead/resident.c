/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_actor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ACTORS = 1 << 20 };

/* Pages first..end, perhaps none. */
struct range {
	uint64_t first, end;
};

/* Requested pages that have not arrived when the task begins something else must have been cached
 * before. */
struct at {
	struct range asked;  /* requested by the task's current access */
	struct range window; /* a window that brings its missing pages */
	uint64_t touched;    /* 1 + the page that was touched, by the fault-around event */
};

struct search {
	struct ra_pages *resident;
	struct ra_pages known; /* added, or cached */
	uint64_t nr_pages;     /* of the file now */
	struct at *actors;
	size_t nr_actors;
};

static void mark_there(struct search *s, uint64_t page)
{
	if (page >= s->nr_pages || ra_pages_cached(&s->known, page))
		return;
	ra_pages_add(&s->known, page, 0, false);
	ra_pages_add(s->resident, page, 0, false);
}

static void mark_came(struct search *s, uint64_t first, uint64_t nr)
{
	if (!ra_pages_spend(&s->known, nr))
		return;
	for (uint64_t page = first; page < first + nr; page++)
		if (!ra_pages_cached(&s->known, page))
			ra_pages_add(&s->known, page, 0, false);
}

static void settle_range(struct search *s, struct range *r)
{
	uint64_t end = r->end < s->nr_pages ? r->end : s->nr_pages;

	if (r->first < end && !ra_pages_spend(&s->known, end - r->first))
		return;
	for (uint64_t page = r->first; page < end; page++)
		mark_there(s, page);
	*r = (struct range){0};
}

static int actor_of(struct search *s, uint32_t number, struct at **ret)
{
	if (number >= MOST_ACTORS)
		return -E2BIG;
	if (number >= s->nr_actors) {
		struct at *more = realloc(s->actors, (number + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + s->nr_actors, 0, (number + 1 - s->nr_actors) * sizeof(*more));
		s->actors = more;
		s->nr_actors = number + 1;
	}
	*ret = &s->actors[number];
	return 0;
}

static void ask_for(struct search *s, struct at *a, struct range what)
{
	settle_range(s, &a->window);
	settle_range(s, &a->asked);
	a->asked = what;
	a->touched = 0;
}

static void ask_read(struct search *s, const struct trace_event *e, struct at *a)
{
	ask_for(s, a,
		(struct range){e->pos / RA_PAGE_BYTES,
			       (e->pos + e->len + RA_PAGE_BYTES - 1) / RA_PAGE_BYTES});
	if (!(e->flags & TRACE_AFTER))
		return;
	settle_range(s, &a->window);
	settle_range(s, &a->asked);
}

/* Without a following fault, the page was cached. Nothing is known about the other pages that it
 * may have mapped. */
static void ask_map(struct search *s, const struct trace_event *e, struct at *a)
{
	if (!e->map.touched)
		return;
	ask_for(s, a, (struct range){e->map.touched - 1, e->map.touched});
	a->touched = e->map.touched;
}

static void ask_fault(struct search *s, const struct trace_event *e, struct at *a)
{
	if (a->touched == e->pos + 1)
		a->asked = (struct range){0};
	ask_for(s, a, (struct range){e->pos, e->pos + !(e->flags & TRACE_MISSING)});
}

/* A window skips cached pages. If a folio met such a page, the rest is another window. */
static void see_window(struct search *s, const struct trace_event *e, struct at *a)
{
	struct range w = {e->pos, e->pos + e->len};

	if (e->detail != TRACE_ORDER && e->detail != TRACE_UNBOUNDED)
		return;
	if (e->detail == TRACE_ORDER)
		w = (struct range){e->ra.start, e->ra.start + e->ra.size};
	if (w.first > w.end)
		return;
	if (w.first > a->window.end || w.end < a->window.first)
		settle_range(s, &a->window);
	if (a->window.end && a->window.first < w.first)
		w.first = a->window.first;
	if (a->window.end > w.end)
		w.end = a->window.end;
	a->window = w;
}

static void set_size(struct search *s, uint64_t size_bytes)
{
	s->nr_pages = size_bytes / RA_PAGE_BYTES + !!(size_bytes % RA_PAGE_BYTES);
}

static int look_at_event(struct search *s, const struct trace_event *e)
{
	struct at *a;
	int r = actor_of(s, e->actor, &a);

	if (r)
		return r;
	switch (e->kind) {
	case TRACE_OPEN:
	case TRACE_SIZE:
		set_size(s, e->pos);
		break;
	case TRACE_READ:
		ask_read(s, e, a);
		break;
	case TRACE_FAULT:
		ask_fault(s, e, a);
		break;
	case TRACE_MAP:
		ask_map(s, e, a);
		break;
	case TRACE_WINDOW:
		see_window(s, e, a);
		break;
	case TRACE_ADD:
		mark_came(s, e->pos, e->len);
		break;
	case TRACE_REMOVE:
		settle_range(s, &(struct range){e->pos, e->pos + e->len});
		break;
	default:
		break;
	}
	return 0;
}

int ra_resident(const struct trace_event *events, size_t nr_events, struct ra_pages *ret)
{
	struct search s = {.resident = ret};
	int r = 0;

	for (size_t i = 0; !r && i < nr_events; i++)
		r = look_at_event(&s, &events[i]);
	for (size_t i = 0; !r && i < s.nr_actors; i++)
		ask_for(&s, &s.actors[i], (struct range){0});
	if (!r)
		r = ret->error ? ret->error : s.known.error;
	free(s.actors);
	ra_pages_free(&s.known);
	return r;
}
