// SPDX-License-Identifier: BSD-2-Clause
/*
 * An event is a head byte (kind, and which fields are unchanged), the time since the last event,
 * and the fields of its kind as LEB128 numbers: differences if neighbours are likely, else values.
 */
#include <errno.h>
#include <string.h>

#include "cachemon/figures/trace_code.h"

enum {
	HEAD_KIND = 0x0f,
	HEAD_DESCRIPTION = 0x10, /* another open file than in the previous event */
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

/* Bytes that are written or read; one that does not fit sets failed, and all later ones are 0. */
struct coded {
	uint8_t *out; /* NULL: they are read */
	const uint8_t *in;
	size_t at, size;
	bool failed;
};

static void put_number(struct coded *b, uint64_t value)
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

static uint64_t get_number(struct coded *b)
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

/* Writes value, or reads and returns a value of at most max. */
static uint64_t code_number(struct coded *b, uint64_t value, uint64_t max)
{
	if (b->out) {
		put_number(b, value);
		return value;
	}
	value = get_number(b);
	if (value > max)
		b->failed = true;
	return b->failed ? 0 : value;
}

/* The distance of two numbers modulo 2^64, small in either direction. */
static uint64_t code_from(struct coded *b, uint64_t value, uint64_t before)
{
	uint64_t d = value - before, z = code_number(b, d << 1 ^ -(d >> 63), UINT64_MAX);

	return before + (z >> 1 ^ -(z & 1));
}

static uint32_t code32(struct coded *b, uint32_t value)
{
	return (uint32_t)code_number(b, value, UINT32_MAX);
}

static uint8_t code8(struct coded *b, uint8_t value)
{
	return (uint8_t)code_number(b, value, UINT8_MAX);
}

static void code_ra(struct coded *b, struct trace_ra *ra, uint64_t start)
{
	ra->start = code_from(b, ra->start, start);
	ra->size = code32(b, ra->size);
	ra->async_size = code32(b, ra->async_size);
	ra->mmap_miss = code32(b, ra->mmap_miss);
	ra->prev_pos = (int64_t)code_from(b, (uint64_t)ra->prev_pos, ra->start << 12);
}

/* Stores the number plus one, so that an unknown mapping takes a single byte. */
static void code_map(struct coded *b, struct trace_map *map, uint64_t pos)
{
	map->id = code32(b, map->id + 1) - 1;
	if (map->id == TRACE_NO_DESCRIPTION)
		return;
	map->align = code32(b, map->align);
	map->first_page = code_number(b, map->first_page, UINT64_MAX);
	map->nr_pages = code_number(b, map->nr_pages, UINT64_MAX);
	if (!code_number(b, map->touched ? 1 : 0, 1))
		return;
	map->touched = code_from(b, map->touched - 1, pos) + 1;
	if (!map->touched)
		b->failed = true;
}

/* The predicted place of the next event; pages and bytes have one place each. */
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

static void code_fields(struct coded *b, const struct trace_coder *c, struct trace_event *e,
			uint8_t fields)
{
	if (fields & HAS_DETAIL)
		e->detail = code8(b, e->detail);
	if (fields & HAS_CALL)
		e->call = code8(b, e->call);
	if (fields & HAS_ORDER)
		e->order = code8(b, e->order);
	if (fields & HAS_POS)
		e->pos = code_from(b, e->pos, pos_expected(e, c->pos));
	if (fields & HAS_LEN)
		e->len = code_number(b, e->len, UINT64_MAX);
	if (fields & HAS_SETTING) {
		e->ra_pages = code32(b, e->ra_pages);
		e->io_pages = code32(b, e->io_pages);
	}
	if (fields & HAS_RA)
		code_ra(b, &e->ra, c->ra_start);
	if (fields & HAS_MAP)
		code_map(b, &e->map, e->pos);
}

/* The fields after the head byte. */
static void code_event(struct coded *b, const struct trace_coder *c, struct trace_event *e,
		       uint8_t head)
{
	e->time_ns = code_from(b, e->time_ns, c->time_ns);
	if (head & HEAD_DESCRIPTION)
		e->description = code32(b, e->description + 1) - 1;
	if (head & HEAD_ACTOR)
		e->actor = code32(b, e->actor);
	if (head & HEAD_FLAGS)
		e->flags = code32(b, e->flags);
	code_fields(b, c, e, fields_of[e->kind]);
}

int trace_encode(struct trace_coder *coder, const struct trace_event *event, size_t room,
		 uint8_t *ret_data)
{
	struct coded b = {.out = ret_data, .size = room};
	struct trace_event e = *event;

	if (!e.kind || e.kind >= TRACE_KIND_NR || !only_its_fields(&e, fields_of[e.kind]))
		return -EINVAL;
	if (!room)
		return -ENOSPC;
	ret_data[b.at++] = e.kind | (e.description != coder->description ? HEAD_DESCRIPTION : 0) |
			   (e.actor != coder->actor ? HEAD_ACTOR : 0) | (e.flags ? HEAD_FLAGS : 0);
	code_event(&b, coder, &e, ret_data[0]);
	if (b.failed)
		return -ENOSPC;
	coder_after(coder, &e, fields_of[e.kind]);
	return b.at;
}

int trace_decode(struct trace_coder *coder, const uint8_t *data, size_t size,
		 struct trace_event *ret_event)
{
	struct coded b = {.in = data, .size = size};
	struct trace_event e;
	uint8_t head;

	if (!size)
		return 0;
	memset(&e, 0, sizeof(e));
	head = data[b.at++];
	e.kind = head & HEAD_KIND;
	if (head & HEAD_UNUSED || !e.kind || e.kind >= TRACE_KIND_NR)
		return -EBADMSG;
	e.description = coder->description;
	e.actor = coder->actor;
	code_event(&b, coder, &e, head);
	if (b.failed)
		return -EBADMSG;
	coder_after(coder, &e, fields_of[e.kind]);
	*ret_event = e;
	return b.at;
}

/* Above the maximum of any kernel: folios of 8 MiB, windows of 4 GiB. */
enum { ORDER_MAX = 11, WINDOW_MAX = 1 << 20, ALIGN_MAX = 511 };
#define FILE_PAGES_MAX (UINT64_C(1) << 51) /* in pages of 4 KiB: the largest possible offset */

static bool is_below(uint64_t pos, uint64_t len, uint64_t max)
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
	    !is_below(m->first_page, m->nr_pages, FILE_PAGES_MAX) || m->touched > FILE_PAGES_MAX)
		return false;
	switch (e->kind) {
	case TRACE_READ:
		return is_below(e->pos, e->len, INT64_MAX);
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
		return e->len <= 1U << ORDER_MAX && is_below(e->pos, e->len, FILE_PAGES_MAX);
	case TRACE_FAULT:
	case TRACE_WINDOW:
		return e->pos < FILE_PAGES_MAX;
	default:
		return true;
	}
}
