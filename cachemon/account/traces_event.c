/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/traces_impl.h"
#include "cachemon/base/vec.h"

_Static_assert((int)NOTE_READ == TRACE_READ && (int)NOTE_FAULT == TRACE_FAULT &&
		       (int)NOTE_MAP == TRACE_MAP && (int)NOTE_ADVICE == TRACE_ADVICE &&
		       (int)NOTE_WINDOW == TRACE_WINDOW && (int)NOTE_ADD == TRACE_ADD &&
		       (int)NOTE_REMOVE == TRACE_REMOVE,
	       "kinds");
_Static_assert((int)NOTE_SYNC == TRACE_SYNC && (int)NOTE_ASYNC == TRACE_ASYNC &&
		       (int)NOTE_ORDER == TRACE_ORDER && (int)NOTE_UNBOUNDED == TRACE_UNBOUNDED,
	       "hooks");
_Static_assert((int)NOTE_RANDOM == TRACE_RANDOM && (int)NOTE_NOREUSE == TRACE_NOREUSE &&
		       (int)NOTE_VM_RANDOM == TRACE_VM_RANDOM &&
		       (int)NOTE_VM_SEQUENTIAL == TRACE_VM_SEQUENTIAL &&
		       (int)NOTE_VM_EXEC == TRACE_VM_EXEC && (int)NOTE_MISSING == TRACE_MISSING &&
		       (int)NOTE_RETRY == TRACE_RETRY && (int)NOTE_PART == TRACE_PART &&
		       (int)NOTE_RANGE == TRACE_RANGE && (int)NOTE_AFTER == TRACE_AFTER &&
		       (int)NOTE_BY_WRITE == TRACE_BY_WRITE,
	       "flags");

#define ALIGN_PAGES 512 /* pages of a page table: fault-around stays within it */

static bool data_room(struct traces *t, struct traced_file *f)
{
	size_t needed = f->data_bytes + TRACE_EVENT_BYTES, max = f->data_max ? f->data_max : 512;
	uint8_t *data;

	if (needed <= f->data_max)
		return true;
	while (max < needed)
		max *= 2;
	data = max <= t->config.unwritten_max ? realloc(f->data, max) : NULL;
	if (!data)
		return false;
	f->data = data;
	f->data_max = max;
	return true;
}

static void emit(struct traces *t, struct traced_file *f, const struct trace_event *e)
{
	int n;

	if (!f->live)
		return;
	if (!data_room(t, f)) {
		traces_end(f, "events were lost before they were written");
		return;
	}
	n = trace_encode(&f->coder, e, f->data_max - f->data_bytes, f->data + f->data_bytes);
	if (n < 0) {
		traces_end(f, "an event could not be encoded");
		return;
	}
	f->data_bytes += n;
	f->chunk_events++;
	f->events++;
	t->events++;
}

static uint32_t actor_of(struct traced_file *f, uint32_t tid)
{
	if (f->last_actor < f->nr_actors && f->actors[f->last_actor] == tid)
		return f->last_actor;
	for (size_t i = 0; i < f->nr_actors; i++)
		if (f->actors[i] == tid)
			return f->last_actor = i;
	if (f->nr_actors >= ACTORS_MAX || vec_reserve(f->actors, f->max_actors, f->nr_actors + 1)) {
		traces_end(f, "more tasks used it than cachemon can distinguish");
		return 0;
	}
	f->actors[f->nr_actors] = tid;
	return f->last_actor = f->nr_actors++;
}

static bool state_is_new(const struct trace_state *s)
{
	return !s->start && !s->size && !s->async_size && !s->mmap_miss && s->prev_pos == -1;
}

static struct description *description_at(struct traced_file *f, uint64_t file)
{
	if (f->last_description < f->nr_descriptions &&
	    f->descriptions[f->last_description].file == file)
		return &f->descriptions[f->last_description];
	for (size_t i = 0; i < f->nr_descriptions; i++) {
		if (f->descriptions[i].file != file)
			continue;
		f->last_description = i;
		return &f->descriptions[i];
	}
	return NULL;
}

static struct description *description_add(struct traced_file *f, uint64_t file)
{
	struct description *d;

	if (f->nr_descriptions >= DESCRIPTIONS_MAX ||
	    vec_reserve(f->descriptions, f->max_descriptions, f->nr_descriptions + 1)) {
		traces_end(f, "it was open more times at once than cachemon can distinguish");
		return NULL;
	}
	f->last_description = f->nr_descriptions;
	d = &f->descriptions[f->nr_descriptions++];
	*d = (struct description){.file = file};
	return d;
}

static void copy_state(struct trace_event *e, const struct trace_state *s)
{
	e->order = (uint8_t)s->order;
	e->ra = (struct trace_ra){.start = s->start,
				  .size = s->size,
				  .async_size = s->async_size,
				  .mmap_miss = s->mmap_miss,
				  .prev_pos = s->prev_pos};
}

/* The number of the open file at an address. The kernel reuses the memory of a closed file for
 * another one, whose state is then that of a new open file. An open file that was never read or
 * used for a window cannot be distinguished from a new one; nor can one whose first read, by
 * another task, may still be in progress. */
static uint32_t description_of(struct traces *t, struct traced_file *f,
			       const struct trace_record *rec, const struct trace_event *like)
{
	struct description *d = description_at(f, rec->file);
	uint32_t flags = rec->flags & (TRACE_RANDOM | TRACE_NOREUSE);
	bool is_new = state_is_new(&rec->state);
	bool read_before = d && d->read && rec->kind == NOTE_READ && d->reader == like->actor;
	struct trace_event e = {.kind = TRACE_SETTING,
				.flags = flags,
				.time_ns = like->time_ns,
				.actor = like->actor};

	e.ra_pages = rec->ra_pages;
	e.io_pages = rec->io_pages;
	if (!d || (is_new && (d->touched || read_before))) {
		d = d ?: description_add(f, rec->file);
		if (!d)
			return TRACE_NO_DESCRIPTION;
		*d = (struct description){.file = rec->file, .number = f->opened++};
		e.kind = TRACE_OPEN;
		e.flags |= is_new ? 0 : TRACE_WARM;
		e.pos = rec->size_bytes;
		copy_state(&e, &rec->state);
	}
	e.description = d->number;
	if (e.kind == TRACE_OPEN || d->flags != flags || d->ra_pages != rec->ra_pages)
		emit(t, f, &e);
	d->flags = flags;
	d->ra_pages = rec->ra_pages;
	if (rec->kind == NOTE_READ) {
		d->read = true;
		d->reader = like->actor;
	}
	d->touched |= !is_new;
	return d->number;
}

static void map_of(struct traces *t, struct traced_file *f, const struct trace_record *rec,
		   struct trace_event *e)
{
	const struct trace_vma *v = &rec->vma;
	unsigned int shift = t->config.page_shift;
	struct mapping is = {v->start, v->end, v->offset_pages};
	size_t i = 0;

	e->map.id = TRACE_NO_DESCRIPTION;
	if (!v->end)
		return;
	while (i < f->nr_mappings && memcmp(&f->mappings[i], &is, sizeof(is)) != 0)
		i++;
	if (i == f->nr_mappings) {
		if (f->nr_mappings >= MAPPINGS_MAX ||
		    vec_reserve(f->mappings, f->max_mappings, f->nr_mappings + 1)) {
			traces_end(
				f,
				"it was mapped more times at once than cachemon can distinguish");
			return;
		}
		f->mappings[f->nr_mappings++] = is;
	}
	e->map.id = i;
	e->map.align = ((v->start >> shift) - v->offset_pages) % ALIGN_PAGES;
	e->map.first_page = v->offset_pages;
	e->map.nr_pages = (v->end - v->start) >> shift;
	if (rec->kind == NOTE_MAP)
		e->map.touched = 1 + v->offset_pages + ((v->address - v->start) >> shift);
}

/* The size before the event, if it differs. */
static void see_size(struct traces *t, struct traced_file *f, const struct trace_record *rec,
		     const struct trace_event *like)
{
	struct trace_event e = {.kind = TRACE_SIZE,
				.description = TRACE_NO_DESCRIPTION,
				.time_ns = like->time_ns,
				.actor = like->actor,
				.pos = rec->size_bytes};

	if (f->events && f->traced_size_bytes == rec->size_bytes)
		return;
	f->traced_size_bytes = rec->size_bytes;
	f->size_bytes = (int64_t)rec->size_bytes;
	f->dirty = true;
	emit(t, f, &e);
}

/* Pages cached when the file was chosen, with those of the add at which it was chosen. */
static void see_first(struct traced_file *f, const struct trace_record *rec)
{
	if (f->events)
		return;
	f->warm |= f->cached_pages && (rec->kind != NOTE_ADD || rec->len < f->cached_pages);
	f->dirty = true;
}

void traced_file_take(struct traces *t, struct traced_file *f, const struct trace_record *rec)
{
	struct trace_event e = {
		.kind = rec->kind,
		.flags = rec->flags,
		.description = TRACE_NO_DESCRIPTION,
		.time_ns =
			rec->time_ns > t->config.start_ns ? rec->time_ns - t->config.start_ns : 0,
		.pos = rec->pos,
		.len = rec->len,
	};

	see_first(f, rec);
	e.actor = actor_of(f, rec->tid);
	see_size(t, f, rec, &e);
	if (f->io_pages < 0 && rec->io_pages) {
		f->io_pages = rec->io_pages;
		f->dirty = true;
	}
	if (rec->file)
		e.description = description_of(t, f, rec, &e);
	switch (rec->kind) {
	case NOTE_FAULT:
	case NOTE_MAP:
		map_of(t, f, rec, &e);
		break;
	case NOTE_ADVICE:
		e.detail = rec->detail;
		e.call = rec->call;
		break;
	case NOTE_WINDOW:
		e.detail = rec->detail;
		e.ra_pages = rec->ra_pages;
		e.io_pages = rec->io_pages;
		copy_state(&e, &rec->state);
		break;
	case NOTE_REMOVE:
		e.detail = rec->detail;
		e.order = rec->order;
		break;
	case NOTE_ADD:
		e.order = rec->order;
		break;
	default:
		break;
	}
	emit(t, f, &e);
}
