/* SPDX-License-Identifier: BSD-2-Clause */
#include "readahead/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, MOST_ACTORS = 1 << 20 };

/* What a task asked for: what had not come when it asks for something else was there before. */
struct asked {
	uint64_t first, end;
};

struct search {
	struct ra_pages *resident;
	struct ra_pages known; /* came, or was there */
	uint64_t nr_pages;     /* of the file now */
	struct asked *actors;
	size_t nr_actors;
};

static void there(struct search *s, uint64_t page)
{
	if (page >= s->nr_pages || ra_pages_cached(&s->known, page))
		return;
	ra_pages_add(&s->known, page, 0, false);
	ra_pages_add(s->resident, page, 0, false);
}

static void came(struct search *s, uint64_t first, uint64_t nr)
{
	if (!ra_pages_spend(&s->known, nr))
		return;
	for (uint64_t page = first; page < first + nr; page++)
		if (!ra_pages_cached(&s->known, page))
			ra_pages_add(&s->known, page, 0, false);
}

static void settle(struct search *s, struct asked *a)
{
	uint64_t end = a->end < s->nr_pages ? a->end : s->nr_pages;

	if (a->first < end && !ra_pages_spend(&s->known, end - a->first))
		return;
	for (uint64_t page = a->first; page < end; page++)
		there(s, page);
	a->first = a->end = 0;
}

static int ask(struct search *s, const struct trace_event *e, uint64_t first, uint64_t end)
{
	if (e->actor >= MOST_ACTORS)
		return -E2BIG;
	if (e->actor >= s->nr_actors) {
		struct asked *more = realloc(s->actors, (e->actor + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + s->nr_actors, 0, (e->actor + 1 - s->nr_actors) * sizeof(*more));
		s->actors = more;
		s->nr_actors = e->actor + 1;
	}
	settle(s, &s->actors[e->actor]);
	s->actors[e->actor] = (struct asked){first, end};
	if (e->flags & TRACE_AFTER)
		settle(s, &s->actors[e->actor]);
	return 0;
}

static void resize(struct search *s, uint64_t size_bytes)
{
	s->nr_pages = size_bytes / PAGE_BYTES + !!(size_bytes % PAGE_BYTES);
}

static int look(struct search *s, const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_OPEN:
	case TRACE_SIZE:
		resize(s, e->pos);
		return 0;
	case TRACE_READ:
		return ask(s, e, e->pos / PAGE_BYTES,
			   (e->pos + e->len + PAGE_BYTES - 1) / PAGE_BYTES);
	case TRACE_FAULT:
		return ask(s, e, e->pos, e->pos + !(e->flags & TRACE_MISSING));
	case TRACE_ADD:
		came(s, e->pos, e->len);
		return 0;
	case TRACE_MAP:
	case TRACE_REMOVE:
		settle(s, &(struct asked){e->pos, e->pos + e->len});
		return 0;
	default:
		return 0;
	}
}

int ra_resident(const struct trace_event *events, size_t nr_events, struct ra_pages *ret)
{
	struct search s = {.resident = ret};
	int r = 0;

	for (size_t i = 0; !r && i < nr_events; i++)
		r = look(&s, &events[i]);
	for (size_t i = 0; !r && i < s.nr_actors; i++)
		settle(&s, &s.actors[i]);
	if (!r)
		r = ret->error ? ret->error : s.known.error;
	free(s.actors);
	ra_pages_free(&s.known);
	return r;
}
