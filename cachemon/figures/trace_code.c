// SPDX-License-Identifier: BSD-2-Clause
/*
 * An event is a byte of head (kind and what is as before), the time since the last event, and the
 * fields of its kind as LEB128 numbers: distances where neighbours are likely, else as they are.
 */
#include <errno.h>
#include <string.h>

#include "cachemon/figures/trace_code.h"

enum {
	HEAD_KIND = 0x0f,
	HEAD_DESCRIPTION = 0x10, /* another description than the event before */
	HEAD_ACTOR = 0x20,
	HEAD_FLAGS = 0x40, /* flags are not 0 */
	HEAD_UNUSED = 0x80,
};

enum {
	HAS_DETAIL = 1 << 0,
	HAS_CALL = 1 << 1,
	HAS_ORDER = 1 << 2,
	HAS_POS = 1 << 3,
	HAS_LEN = 1 << 4,
	HAS_SETTING = 1 << 5, /* ra_pages, io_pages */
	HAS_RA = 1 << 6,
	HAS_MAP = 1 << 7,
};

static const uint8_t fields_of[TRACE_KIND_NR] = {
	[TRACE_OPEN] = HAS_ORDER | HAS_POS | HAS_SETTING | HAS_RA,
	[TRACE_READ] = HAS_POS | HAS_LEN,
	[TRACE_FAULT] = HAS_POS | HAS_MAP,
	[TRACE_MAP] = HAS_POS | HAS_LEN | HAS_MAP,
	[TRACE_ADVICE] = HAS_DETAIL | HAS_CALL | HAS_POS | HAS_LEN,
	[TRACE_WINDOW] = HAS_DETAIL | HAS_ORDER | HAS_POS | HAS_LEN | HAS_SETTING | HAS_RA,
	[TRACE_ADD] = HAS_ORDER | HAS_POS | HAS_LEN,
	[TRACE_REMOVE] = HAS_DETAIL | HAS_ORDER | HAS_POS | HAS_LEN,
	[TRACE_SIZE] = HAS_POS,
	[TRACE_SETTING] = HAS_SETTING,
};

/* Bytes that are read or written; one that does not fit sets failed, and all after it are 0. */
struct bytes {
	uint8_t *out;
	const uint8_t *in;
	size_t at, size;
	bool failed;
};

static void put(struct bytes *b, uint64_t value)
{
	do {
		if (b->at == b->size) {
			b->failed = true;
			return;
		}
		b->out[b->at++] = (value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		value >>= 7;
	} while (value);
}

static uint64_t get(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift;
	uint8_t byte;

	for (shift = 0; shift < 64 && b->at < b->size && !b->failed; shift += 7) {
		byte = b->in[b->at++];
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	b->failed = true;
	return 0;
}

static uint64_t get_below(struct bytes *b, uint64_t limit)
{
	uint64_t value = get(b);

	if (value >= limit)
		b->failed = true;
	return b->failed ? 0 : value;
}

static uint32_t get32(struct bytes *b)
{
	return get_below(b, 1ull << 32);
}

/* The distance of two numbers modulo 2^64, small in either direction. */
static void put_from(struct bytes *b, uint64_t value, uint64_t before)
{
	uint64_t d = value - before;

	put(b, d << 1 ^ -(d >> 63));
}

static uint64_t get_from(struct bytes *b, uint64_t before)
{
	uint64_t z = get(b);

	return before + (z >> 1 ^ -(z & 1));
}

static void put_ra(struct bytes *b, const struct trace_ra *ra, uint64_t start)
{
	put_from(b, ra->start, start);
	put(b, ra->size);
	put(b, ra->async_size);
	put(b, ra->mmap_miss);
	put_from(b, ra->prev_pos, ra->start << 12);
}

static void get_ra(struct bytes *b, struct trace_ra *ra, uint64_t start)
{
	ra->start = get_from(b, start);
	ra->size = get32(b);
	ra->async_size = get32(b);
	ra->mmap_miss = get32(b);
	ra->prev_pos = get_from(b, ra->start << 12);
}

/* The number is kept plus one, so that a mapping that is not known is a single byte. */
static void put_map(struct bytes *b, const struct trace_map *map, uint64_t pos)
{
	put(b, (uint32_t)(map->id + 1));
	if (map->id == TRACE_NO_DESCRIPTION)
		return;
	put(b, map->align);
	put(b, map->first_page);
	put(b, map->nr_pages);
	put(b, map->touched ? 1 : 0);
	if (map->touched)
		put_from(b, map->touched - 1, pos);
}

static void get_map(struct bytes *b, struct trace_map *map, uint64_t pos)
{
	map->id = get32(b) - 1;
	if (map->id == TRACE_NO_DESCRIPTION)
		return;
	map->align = get32(b);
	map->first_page = get(b);
	map->nr_pages = get(b);
	if (!get_below(b, 2))
		return;
	map->touched = get_from(b, pos) + 1;
	if (!map->touched)
		b->failed = true;
}

/* Where the next event of this file probably is; pages and bytes have one place each. */
static uint64_t pos_in_bytes(const struct trace_event *e, uint64_t pos)
{
	bool bytes = e->kind == TRACE_OPEN || e->kind == TRACE_READ || e->kind == TRACE_ADVICE ||
		     e->kind == TRACE_SIZE;

	return bytes ? pos : pos << 12;
}

static uint64_t pos_expected(const struct trace_event *e, uint64_t bytes)
{
	return pos_in_bytes(e, 1) == 1 ? bytes : bytes >> 12;
}

static void coder_after(struct trace_coder *c, const struct trace_event *e, uint8_t fields)
{
	c->time_ns = e->time_ns;
	c->description = e->description;
	c->actor = e->actor;
	if (fields & HAS_RA)
		c->ra_start = e->ra.start;
	if (fields & HAS_POS && e->kind != TRACE_OPEN && e->kind != TRACE_SIZE)
		c->pos = pos_in_bytes(e, e->pos + (e->kind == TRACE_WINDOW ? 0 : e->len));
}

static bool no_ra(const struct trace_ra *ra)
{
	return !ra->start && !ra->size && !ra->async_size && !ra->mmap_miss && !ra->prev_pos;
}

static bool only_its_fields(const struct trace_event *e, uint8_t fields)
{
	static const struct trace_map no_map;

	return (fields & HAS_DETAIL || !e->detail) && (fields & HAS_CALL || !e->call) &&
	       (fields & HAS_ORDER || !e->order) && (fields & HAS_POS || !e->pos) &&
	       (fields & HAS_LEN || !e->len) &&
	       (fields & HAS_SETTING || !(e->ra_pages | e->io_pages)) &&
	       (fields & HAS_RA || no_ra(&e->ra)) &&
	       (fields & HAS_MAP || !memcmp(&e->map, &no_map, sizeof(no_map)));
}

static void put_fields(struct bytes *b, const struct trace_coder *c, const struct trace_event *e,
		       uint8_t fields)
{
	if (fields & HAS_DETAIL)
		put(b, e->detail);
	if (fields & HAS_CALL)
		put(b, e->call);
	if (fields & HAS_ORDER)
		put(b, e->order);
	if (fields & HAS_POS)
		put_from(b, e->pos, pos_expected(e, c->pos));
	if (fields & HAS_LEN)
		put(b, e->len);
	if (fields & HAS_SETTING) {
		put(b, e->ra_pages);
		put(b, e->io_pages);
	}
	if (fields & HAS_RA)
		put_ra(b, &e->ra, c->ra_start);
	if (fields & HAS_MAP)
		put_map(b, &e->map, e->pos);
}

static void get_fields(struct bytes *b, const struct trace_coder *c, struct trace_event *e,
		       uint8_t fields)
{
	if (fields & HAS_DETAIL)
		e->detail = get_below(b, 256);
	if (fields & HAS_CALL)
		e->call = get_below(b, 256);
	if (fields & HAS_ORDER)
		e->order = get_below(b, 256);
	if (fields & HAS_POS)
		e->pos = get_from(b, pos_expected(e, c->pos));
	if (fields & HAS_LEN)
		e->len = get(b);
	if (fields & HAS_SETTING) {
		e->ra_pages = get32(b);
		e->io_pages = get32(b);
	}
	if (fields & HAS_RA)
		get_ra(b, &e->ra, c->ra_start);
	if (fields & HAS_MAP)
		get_map(b, &e->map, e->pos);
}

int trace_encode(struct trace_coder *coder, const struct trace_event *event, size_t room,
		 uint8_t *ret_data)
{
	struct bytes b = {.out = ret_data, .size = room};
	bool description = event->description != coder->description;
	bool actor = event->actor != coder->actor;
	uint8_t fields;

	if (!event->kind || event->kind >= TRACE_KIND_NR)
		return -EINVAL;
	fields = fields_of[event->kind];
	if (!only_its_fields(event, fields))
		return -EINVAL;
	if (!room)
		return -ENOSPC;
	ret_data[b.at++] = event->kind | (description ? HEAD_DESCRIPTION : 0) |
			   (actor ? HEAD_ACTOR : 0) | (event->flags ? HEAD_FLAGS : 0);
	put_from(&b, event->time_ns, coder->time_ns);
	if (description)
		put(&b, (uint32_t)(event->description + 1));
	if (actor)
		put(&b, event->actor);
	if (event->flags)
		put(&b, event->flags);
	put_fields(&b, coder, event, fields);
	if (b.failed)
		return -ENOSPC;
	coder_after(coder, event, fields);
	return b.at;
}

int trace_decode(struct trace_coder *coder, const uint8_t *data, size_t size,
		 struct trace_event *ret_event)
{
	struct bytes b = {.in = data, .size = size};
	struct trace_event e;
	uint8_t head, fields;

	if (!size)
		return 0;
	memset(&e, 0, sizeof(e));
	head = data[b.at++];
	e.kind = head & HEAD_KIND;
	if (head & HEAD_UNUSED || !e.kind || e.kind >= TRACE_KIND_NR)
		return -EBADMSG;
	fields = fields_of[e.kind];
	e.time_ns = get_from(&b, coder->time_ns);
	e.description = head & HEAD_DESCRIPTION ? get32(&b) - 1 : coder->description;
	e.actor = head & HEAD_ACTOR ? get32(&b) : coder->actor;
	e.flags = head & HEAD_FLAGS ? get32(&b) : 0;
	get_fields(&b, coder, &e, fields);
	if (b.failed)
		return -EBADMSG;
	coder_after(coder, &e, fields);
	*ret_event = e;
	return b.at;
}

/* Above what any kernel has: folios of 8 MiB, windows of 4 GiB. */
enum { ORDER_MAX = 11, WINDOW_MAX = 1 << 20, ALIGN_MAX = 511 };
#define FILE_PAGES_MAX (UINT64_C(1) << 51) /* of 4 KiB: the largest offset there is */

static bool below(uint64_t pos, uint64_t len, uint64_t max)
{
	return pos <= max && len <= max - pos;
}

static bool possible_ra(const struct trace_event *e)
{
	return e->ra_pages <= WINDOW_MAX && e->io_pages <= WINDOW_MAX &&
	       e->ra.start <= FILE_PAGES_MAX && e->ra.size <= WINDOW_MAX &&
	       e->ra.async_size <= WINDOW_MAX;
}

bool trace_event_possible(const struct trace_event *e)
{
	const struct trace_map *m = &e->map;

	if (e->order > ORDER_MAX || !possible_ra(e) || m->align > ALIGN_MAX ||
	    !below(m->first_page, m->nr_pages, FILE_PAGES_MAX) || m->touched > FILE_PAGES_MAX)
		return false;
	switch (e->kind) {
	case TRACE_READ:
		return below(e->pos, e->len, INT64_MAX);
	case TRACE_OPEN:
	case TRACE_ADVICE:
	case TRACE_SIZE:
		return e->pos <= INT64_MAX;
	case TRACE_ADD:
		if (e->pos & ((1U << e->order) - 1))
			return false;
		/* fall through */
	case TRACE_MAP:
	case TRACE_REMOVE:
		return e->len <= 1U << ORDER_MAX && below(e->pos, e->len, FILE_PAGES_MAX);
	case TRACE_FAULT:
	case TRACE_WINDOW:
		return e->pos < FILE_PAGES_MAX;
	default:
		return true;
	}
}
