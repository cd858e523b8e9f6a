/* SPDX-License-Identifier: BSD-2-Clause */
#include "tape.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/cachemon.h"
#include "check.h"
#include "patterns.h"

void tape_put(struct tape *t, const struct trace_event *e)
{
	int n;

	if (t->room - t->size < TRACE_EVENT_BYTES) {
		t->room = t->room ? 2 * t->room : 1 << 16;
		t->data = realloc(t->data, t->room);
		if (!t->data)
			abort();
	}
	n = trace_encode(&t->coder, e, t->room - t->size, t->data + t->size);
	if (n <= 0)
		abort();
	t->size += (size_t)n;
	if (t->events % 256 == 0)
		t->event = realloc(t->event, (t->events + 256) * sizeof(*t->event));
	if (!t->event)
		abort();
	t->event[t->events++] = *e;
}

static void put_open(struct tape *t, unsigned int kb)
{
	for (uint32_t i = 0; i < PATTERN_STREAMS; i++) {
		struct trace_event e = {.kind = TRACE_OPEN,
					.description = i,
					.pos = PATTERN_BYTES,
					.ra_pages = kb / 4,
					.io_pages = TAPE_IO_PAGES};

		e.ra.prev_pos = -1;
		tape_put(t, &e);
	}
}

/* The record of a call that brings pages. */
static void put_call(struct tape *t, const struct call *c, bool brings)
{
	struct trace_event e = {.description = c->stream, .pos = c->pos, .len = c->count};

	if (c->kind == DO_READ) {
		e.kind = TRACE_READ;
	} else if (c->kind == DO_ADVISE && c->advice == ADVISE_WILLNEED) {
		e.kind = TRACE_ADVICE;
		e.detail = ADVICE_WILLNEED;
		e.call = CALL_FADVISE;
	} else if (c->kind == DO_TOUCH && brings) {
		e.kind = TRACE_FAULT;
		e.pos = c->pos / PATTERN_PAGE;
		e.len = 0;
		e.map.nr_pages = PATTERN_PAGES;
	} else {
		return;
	}
	tape_put(t, &e);
}

bool tape_record(struct tape *t, FILE *recording, const char *pattern, unsigned int kb)
{
	size_t nr, at = 0;
	struct recorded *all = recording_find(recording, pattern, kb, &nr);
	struct calls calls;

	memset(t, 0, sizeof(*t));
	if (!all)
		return false;
	put_open(t, kb);
	calls_make(pattern_named(pattern), &calls);
	for (size_t i = 0; i < calls.nr; i++) {
		put_call(t, &calls.call[i], at < nr && all[at].call == i);
		for (; at < nr && all[at].call == i; at++) {
			struct trace_event e = {.kind = TRACE_ADD,
						.description = calls.call[i].stream,
						.pos = all[at].first,
						.len = 1ULL << all[at].order,
						.order = (uint8_t)all[at].order};

			tape_put(t, &e);
		}
	}
	calls_free(&calls);
	free(all);
	return true;
}

void tape_free(struct tape *t)
{
	free(t->data);
	free(t->event);
}
