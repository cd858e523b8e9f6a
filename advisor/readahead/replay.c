/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/readahead/ra_actor.h"
#include "cachemon/figures/counters.h"

enum { MOST_NUMBERS = 1 << 20 };

struct description {
	struct ra_stream stream;
	bool open;
	uint32_t user; /* 1 + the last task that used it */
};

struct replay {
	const struct ra_replay_input *in;
	struct ra_setting setting;
	struct ra_file file;
	struct description **descriptions; /* fallback if the open file is unknown */
	size_t nr_descriptions;
	struct description unknown;
	struct ra_actor **actors;
	size_t nr_actors;
	struct ra_replay_result result;
};

static bool is_actual(const struct replay *r)
{
	return r->setting.kind == RA_SETTING_ACTUAL;
}

/* Makes room for numbers up to nr in an array of pointers. */
static int grow_numbers(void ***array, size_t *nr_array, size_t nr)
{
	void **more;

	if (nr < *nr_array)
		return 0;
	if (nr >= MOST_NUMBERS)
		return -E2BIG;
	more = realloc(*array, (nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + *nr_array, 0, (nr + 1 - *nr_array) * sizeof(*more));
	*array = more;
	*nr_array = nr + 1;
	return 0;
}

static int find_actor(struct replay *r, uint32_t number, struct ra_actor **ret)
{
	int e = grow_numbers((void ***)&r->actors, &r->nr_actors, number);

	if (e)
		return e;
	if (!r->actors[number])
		r->actors[number] = calloc(1, sizeof(**r->actors));
	*ret = r->actors[number];
	return *ret ? 0 : -ENOMEM;
}

/* Applies the setting to an open file: its window size, and whether it is advised as random. */
static void apply_setting(const struct replay *r, struct ra_stream *s, const struct trace_event *e)
{
	uint32_t device = r->in->device_pages;

	s->random = e->flags & TRACE_RANDOM;
	switch (r->setting.kind) {
	case RA_SETTING_ACTUAL:
		s->ra_pages = e->ra_pages;
		break;
	case RA_SETTING_PAGES:
		/* Sequential advice doubles the device's setting. */
		s->ra_pages = r->setting.pages * (device && e->ra_pages == 2 * device ? 2 : 1);
		break;
	case RA_SETTING_RANDOM:
		s->ra_pages = device;
		s->random = true;
		break;
	case RA_SETTING_SEQUENTIAL:
		s->ra_pages = 2 * device;
		s->random = false;
		break;
	}
}

static void open_description(struct replay *r, struct description *d, const struct trace_event *e)
{
	ra_stream_init(&d->stream, &r->file);
	d->open = true;
	if (e->kind != TRACE_OPEN)
		return;
	apply_setting(r, &d->stream, e);
	/* Another setting would have made other windows for the earlier reads. */
	d->stream.start = e->ra.start;
	d->stream.size = e->ra.size;
	d->stream.async_size = e->ra.async_size;
	d->stream.mmap_miss = e->ra.mmap_miss;
	d->stream.prev_pos = e->ra.prev_pos;
	d->stream.order = e->order;
}

static int description_of(struct replay *r, const struct trace_event *e, struct ra_stream **ret)
{
	struct description *d = &r->unknown;
	int error;

	if (e->description != TRACE_NO_DESCRIPTION) {
		error = grow_numbers((void ***)&r->descriptions, &r->nr_descriptions,
				     e->description);
		if (error)
			return error;
		if (!r->descriptions[e->description])
			r->descriptions[e->description] = calloc(1, sizeof(*d));
		d = r->descriptions[e->description];
		if (!d)
			return -ENOMEM;
	}
	if (!d->open || e->kind == TRACE_OPEN)
		open_description(r, d, e);
	*ret = &d->stream;
	if (e->kind != TRACE_READ && e->kind != TRACE_FAULT && e->kind != TRACE_MAP)
		return 0;
	if (d == &r->unknown)
		r->result.reads_of_none |= e->kind == TRACE_READ;
	else
		r->result.shared |= d->user && d->user != e->actor + 1;
	d->user = e->actor + 1;
	return 0;
}

/* Keeps the pages that the model brought in for the task's access until it is judged. */
static int take_adds(struct replay *r, struct ra_actor *a)
{
	if (r->file.pages.error)
		return r->file.pages.error;
	return is_actual(r) ? ra_actor_take(a, &r->file) : 0;
}

/* The task is past the position of its read in the model, so that read continues. */
static int go_on_reading(struct replay *r, struct ra_actor *a)
{
	ra_read_go_on(&r->file, a->stream, &a->call);
	return take_adds(r, a);
}

/* A new access begins: the task's previous one has ended. */
static int begin_access(struct replay *r, const struct trace_event *e, struct ra_actor **ret_actor,
			struct ra_stream **ret_stream)
{
	int error = find_actor(r, e->actor, ret_actor);
	struct ra_actor *a = error ? NULL : *ret_actor;

	while (!error && a->call.under_way)
		error = go_on_reading(r, a);
	if (!error)
		error = description_of(r, e, ret_stream);
	if (error)
		return error;
	if (is_actual(r) && !(e->flags & TRACE_AFTER))
		ra_actor_judge(a, &r->file, &r->result);
	a->stream = *ret_stream;
	return 0;
}

static int end_access(struct replay *r, const struct trace_event *e, struct ra_actor *a,
		      uint64_t first, uint64_t end_page)
{
	int error;

	a->asked_first = first;
	a->asked_end = end_page;
	error = take_adds(r, a);
	if (!error && is_actual(r) && e->flags & TRACE_AFTER)
		ra_actor_judge(a, &r->file, &r->result);
	return error;
}

static int on_read(struct replay *r, const struct trace_event *e)
{
	struct ra_stream *s;
	struct ra_actor *a;
	int error = begin_access(r, e, &a, &s);

	if (error)
		return error;
	a->touched = 0;
	r->result.inexact_reads |= !!(e->flags & TRACE_RANGE);
	/* A call recorded at its end brings in nothing later. */
	if (e->flags & TRACE_AFTER)
		ra_read(&r->file, s, e->pos, e->len);
	else
		ra_read_begin(&r->file, s, e->pos, e->len, &a->call);
	return end_access(r, e, a, e->pos / RA_PAGE_BYTES,
			  (e->pos + e->len + RA_PAGE_BYTES - 1) / RA_PAGE_BYTES);
}

static struct ra_mapping mapping_of(const struct trace_event *e)
{
	struct ra_mapping m = {
		.address_page = e->map.first_page + e->map.align,
		.first_page = e->map.first_page,
		.nr_pages = e->map.nr_pages,
		.random = e->flags & TRACE_VM_RANDOM,
		.sequential = e->flags & TRACE_VM_SEQUENTIAL,
		.exec = e->flags & TRACE_VM_EXEC,
	};

	return m;
}

static int on_touch(struct replay *r, const struct trace_event *e, uint64_t page)
{
	struct ra_mapping m = mapping_of(e);
	struct ra_stream *s;
	struct ra_actor *a;
	int error = begin_access(r, e, &a, &s);

	if (error)
		return error;
	if (!m.nr_pages) { /* unknown: treated as the whole file */
		m.address_page = m.first_page = 0;
		m.nr_pages = ra_file_nr_pages(&r->file);
	}
	r->result.mapped++;
	ra_touch(&r->file, s, &m, page);
	return end_access(r, e, a, page, page + 1);
}

/*
 * One touch may have several events: fault-around that mapped other pages than the touched one, the
 * fault, and both again after a wait. Replays the first of them.
 */
static int on_fault(struct replay *r, const struct trace_event *e)
{
	struct ra_actor *a;
	int error = find_actor(r, e->actor, &a);
	bool same;

	if (error)
		return error;
	same = a->touched == e->pos + 1 && (e->flags & TRACE_RETRY || !a->faulted);
	if (!same)
		error = on_touch(r, e, e->pos);
	a->touched = e->pos + 1;
	a->faulted = true;
	return error;
}

static int on_map(struct replay *r, const struct trace_event *e)
{
	struct ra_actor *a;
	int error = find_actor(r, e->actor, &a);

	if (error || !e->map.touched || a->touched == e->map.touched)
		return error;
	error = on_touch(r, e, e->map.touched - 1);
	a->touched = e->map.touched;
	a->faulted = false;
	return error;
}

static int on_advice(struct replay *r, const struct trace_event *e)
{
	enum ra_advice advice;
	struct ra_stream *s;
	struct ra_actor *a;
	int error;

	switch (e->detail) {
	case ADVICE_WILLNEED:
	case ADVICE_READAHEAD:
		advice = RA_ADVICE_WILLNEED;
		break;
	case ADVICE_DONTNEED:
		/* With the actual setting, the trace has the removals itself. */
		if (is_actual(r) || e->call != CALL_FADVISE)
			return 0;
		advice = RA_ADVICE_DONTNEED;
		break;
	default:
		/* The setting that follows has their changes. */
		return 0;
	}
	error = begin_access(r, e, &a, &s);
	if (error)
		return error;
	ra_advise(&r->file, s, advice, e->pos, e->len);
	return end_access(r, e, a, 0, 0);
}

/*
 * A window past the position of the task's read shows that the read went on, so that other tasks'
 * changes to the open file came before it.
 */
static int on_window(struct replay *r, const struct trace_event *e)
{
	bool asked = e->detail == TRACE_SYNC || e->detail == TRACE_ASYNC;
	struct ra_stream *s;
	struct ra_actor *a;
	int error = find_actor(r, e->actor, &a);

	while (!error && asked && a->call.under_way && ra_read_is_past(&r->file, &a->call, e->pos))
		error = go_on_reading(r, a);
	if (error || !is_actual(r) || e->detail != TRACE_ORDER)
		return error;
	a->window = e->ra;
	a->has_window = true;
	error = description_of(r, e, &s);
	/* If the model chose another window, it continues from the recorded one, so that it is
	 * wrong only once. */
	if (!error) {
		s->start = e->ra.start;
		s->size = e->ra.size;
		s->async_size = e->ra.async_size;
	}
	return error;
}

static int on_add(struct replay *r, const struct trace_event *e)
{
	struct ra_add add = {e->pos, e->order, false};
	struct ra_actor *a;
	int error = 0;

	if (e->flags & TRACE_BY_WRITE) {
		if (!ra_pages_spend(&r->file.pages, e->len))
			return r->file.pages.error;
		for (uint64_t page = e->pos; page < e->pos + e->len; page++)
			ra_pages_remove(&r->file.pages, page);
		for (; add.first < e->pos + e->len; add.first += 1ULL << add.order)
			ra_pages_add(&r->file.pages, add.first, add.order, false);
		return r->file.pages.error;
	}
	r->result.traced_pages += e->len;
	if (!is_actual(r))
		return 0;
	error = find_actor(r, e->actor, &a);
	for (; !error && add.first < e->pos + e->len; add.first += 1ULL << add.order)
		error = ra_adds_push(&a->trace, add);
	return error;
}

static void on_remove(struct replay *r, const struct trace_event *e)
{
	bool pressure = e->detail <= EVICT_RECLAIM_MEMCG;

	r->result.evicted += pressure ? e->len : 0;
	/* Replays the advice itself if other pages may be cached. */
	if (e->detail == EVICT_DONTNEED && !is_actual(r))
		return;
	ra_remove(&r->file, e->pos, e->len);
}

static int on_event(struct replay *r, const struct trace_event *e)
{
	struct ra_stream *s;
	int error;

	switch (e->kind) {
	case TRACE_OPEN:
		if (e->io_pages)
			r->file.io_pages = e->io_pages;
		ra_resize(&r->file, e->pos);
		return description_of(r, e, &s);
	case TRACE_SETTING:
		error = description_of(r, e, &s);
		if (!error)
			apply_setting(r, s, e);
		return error;
	case TRACE_READ:
		return on_read(r, e);
	case TRACE_FAULT:
		return on_fault(r, e);
	case TRACE_MAP:
		return on_map(r, e);
	case TRACE_ADVICE:
		return on_advice(r, e);
	case TRACE_WINDOW:
		return on_window(r, e);
	case TRACE_ADD:
		return on_add(r, e);
	case TRACE_REMOVE:
		on_remove(r, e);
		return 0;
	case TRACE_SIZE:
		ra_resize(&r->file, e->pos);
		return 0;
	default:
		return -EBADMSG;
	}
}

static void replay_free(struct replay *r)
{
	for (size_t i = 0; i < r->nr_actors; i++) {
		if (r->actors[i])
			ra_actor_free(r->actors[i]);
		free(r->actors[i]);
	}
	for (size_t i = 0; i < r->nr_descriptions; i++)
		free(r->descriptions[i]);
	free(r->actors);
	free(r->descriptions);
	ra_file_free(&r->file);
}

static int finish_actor(struct replay *r, struct ra_actor *a)
{
	int error = 0;

	while (!error && a && a->call.under_way)
		error = go_on_reading(r, a);
	if (!error && a && is_actual(r))
		ra_actor_judge(a, &r->file, &r->result);
	return error;
}

int ra_replay(const struct ra_replay_input *in, struct ra_setting setting,
	      struct ra_replay_result *ret)
{
	struct replay r = {.in = in, .setting = setting};
	uint32_t pages = setting.kind == RA_SETTING_PAGES ? setting.pages : in->device_pages;
	int error = 0;

	ra_file_init(&r.file, in->kernel, 0, in->max_order, in->io_pages, pages);
	if (in->warm)
		error = ra_resident(in->events, in->nr_events, &r.file.pages);
	for (size_t i = 0; !error && i < in->nr_events; i++) {
		error = on_event(&r, &in->events[i]);
		if (!error)
			error = r.file.pages.error;
	}
	for (size_t i = 0; !error && i < r.nr_actors; i++)
		error = finish_actor(&r, r.actors[i]);
	if (!error) {
		r.result.totals = r.file.totals;
		r.result.wasted_pages = ra_file_wasted(&r.file);
		*ret = r.result;
	}
	replay_free(&r);
	return error;
}
