/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account figures access */
/* From the records of the probes to encoded events: open files, mappings, bounds, weights. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/account/traces.h"
#include "cachemon/figures/trace_code.h"

enum { EVENTS_MAX = 64 };

struct fixture {
	struct traces *t;
	struct trace_event events[EVENTS_MAX];
	int nr;
};

static const struct trace_state fresh = {.prev_pos = -1};

static struct file_key key_of(uint64_t ino)
{
	return (struct file_key){.ino = ino, .dev = 8 << 20 | 1, .gen = 7};
}

static void make(struct fixture *f, uint64_t events_max, size_t unwritten_max)
{
	struct traces_config c = {.start_ns = 1000,
				  .page_shift = 12,
				  .events_max = events_max,
				  .unwritten_max = unwritten_max};

	traces_free(f->t);
	assert_int_equal(traces_new(&c, &f->t), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	make(f, 0, 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	traces_free(f->t);
	free(f);
	return 0;
}

static void begin(struct fixture *f, uint32_t number, uint32_t hash, uint64_t cached_pages)
{
	struct trace_record r = {.number = number, .kind = NOTE_BEGIN, .size_bytes = 1 << 20};

	r.begin = (struct trace_begin){.file = key_of(number),
				       .cached_pages = cached_pages,
				       .hash = hash,
				       .stratum = 3,
				       .max_order = 9};
	r.ra_pages = 32;
	r.io_pages = 320;
	assert_int_equal(traces_take(f->t, &r, sizeof(r)), 0);
}

static struct trace_record record(uint32_t number, enum note_kind kind, uint64_t pos, uint64_t len)
{
	return (struct trace_record){.time_ns = 1500,
				     .number = number,
				     .tid = 100,
				     .kind = kind,
				     .pos = pos,
				     .len = len,
				     .size_bytes = 1 << 20,
				     .io_pages = 320};
}

static struct trace_record of_file(struct trace_record r, uint64_t file, struct trace_state s)
{
	r.file = file;
	r.ra_pages = 32;
	r.state = s;
	return r;
}

static void take(struct fixture *f, struct trace_record r)
{
	assert_int_equal(traces_take(f->t, &r, sizeof(r)), 0);
}

/* The events of a file that were not yet written. */
static void decode(struct fixture *f, size_t i)
{
	struct trace_coder c = {0};
	struct traced_row row;
	size_t at = 0;
	int n;

	traces_row(traces_at(f->t, i), &row);
	for (f->nr = 0; at < row.data_bytes; f->nr++) {
		assert_true(f->nr < EVENTS_MAX);
		n = trace_decode(&c, row.data + at, row.data_bytes - at, &f->events[f->nr]);
		assert_true(n > 0);
		at += (size_t)n;
	}
	assert_int_equal(row.events, f->nr);
}

static void expect_kinds(const struct fixture *f, const uint8_t *kinds, int nr)
{
	assert_int_equal(f->nr, nr);
	for (int i = 0; i < nr; i++)
		if (f->events[i].kind != kinds[i])
			fail_msg("event %d is of kind %d, not %d", i, f->events[i].kind, kinds[i]);
}

static void first_access(void **state)
{
	static const uint8_t kinds[] = {TRACE_SIZE, TRACE_OPEN, TRACE_READ, TRACE_READ};
	struct fixture *f = *state;

	begin(f, 1, 5, 0);
	take(f, of_file(record(1, NOTE_READ, 10, 4096), 0xf00, fresh));
	take(f, of_file(record(1, NOTE_READ, 4106, 4096), 0xf00,
			(struct trace_state){.size = 4, .async_size = 2, .prev_pos = 4106}));
	decode(f, 0);
	expect_kinds(f, kinds, 4);
	assert_int_equal(f->events[0].pos, 1 << 20);
	assert_int_equal(f->events[1].ra.prev_pos, -1);
	assert_int_equal(f->events[1].flags, 0);
	assert_int_equal(f->events[1].io_pages, 320);
	assert_int_equal(f->events[2].pos, 10);
	assert_int_equal(f->events[2].len, 4096);
	assert_int_equal(f->events[2].time_ns, 500);
	assert_int_equal(f->events[3].description, 0);
}

/* Two open files at a time, and one whose memory is reused: it has the state of a file just
 * opened. */
static void descriptions(void **state)
{
	struct trace_state used = {.start = 8, .size = 4, .prev_pos = 9000};
	struct fixture *f = *state;
	int opened = 0;

	begin(f, 1, 5, 0);
	take(f, of_file(record(1, NOTE_READ, 0, 1), 0xa, used));
	take(f, of_file(record(1, NOTE_READ, 0, 1), 0xb, fresh));
	take(f, of_file(record(1, NOTE_READ, 9, 1), 0xa, used));
	/* A call whose pages were all cached shows only in the state of the next call. */
	take(f, of_file(record(1, NOTE_READ, 0, 1), 0xb, fresh));
	take(f, of_file(record(1, NOTE_READ, 0, 1), 0xa, fresh));
	/* A fault does not change the state: the same open file. */
	take(f, of_file(record(1, NOTE_FAULT, 0, 0), 0xa, fresh));
	decode(f, 0);
	for (int i = 0; i < f->nr; i++) {
		if (f->events[i].kind != TRACE_OPEN)
			continue;
		assert_int_equal(f->events[i].description, opened++);
		assert_int_equal(!!(f->events[i].flags & TRACE_WARM), opened == 1);
	}
	assert_int_equal(opened, 4);
	assert_int_equal(f->events[f->nr - 1].description, 3);
}

/* Until the first read ends, the state of the open file does not show that it was read. */
static void a_description_of_two_tasks(void **state)
{
	struct fixture *f = *state;
	struct trace_record r = of_file(record(1, NOTE_READ, 0, 1), 0xa, fresh);
	int opened = 0;

	begin(f, 1, 5, 0);
	take(f, r);
	r.tid = 101;
	take(f, r);
	/* This task has read through it before, so this is another open file. */
	take(f, r);
	decode(f, 0);
	for (int i = 0; i < f->nr; i++)
		opened += f->events[i].kind == TRACE_OPEN;
	assert_int_equal(opened, 2);
	assert_int_equal(f->events[f->nr - 1].description, 1);
}

static void settings(void **state)
{
	static const uint8_t kinds[] = {TRACE_SIZE,    TRACE_OPEN,   TRACE_READ,
					TRACE_SETTING, TRACE_WINDOW, TRACE_SETTING,
					TRACE_READ,    TRACE_SIZE,   TRACE_REMOVE};
	struct fixture *f = *state;
	struct trace_record r;

	begin(f, 1, 5, 0);
	take(f, of_file(record(1, NOTE_READ, 0, 1), 0xa, fresh));
	r = of_file(record(1, NOTE_WINDOW, 0, 1), 0xa, fresh);
	r.flags = NOTE_RANDOM;
	r.detail = NOTE_SYNC;
	take(f, r);
	r = of_file(record(1, NOTE_READ, 0, 1), 0xa, (struct trace_state){.prev_pos = 1});
	r.ra_pages = 64;
	take(f, r);
	r = record(1, NOTE_REMOVE, 3, 1);
	r.size_bytes = 4096;
	r.detail = EVICT_TRUNCATE;
	take(f, r);
	decode(f, 0);
	expect_kinds(f, kinds, 9);
	assert_int_equal(f->events[3].flags, TRACE_RANDOM);
	assert_int_equal(f->events[5].flags, 0);
	assert_int_equal(f->events[5].ra_pages, 64);
	assert_int_equal(f->events[7].pos, 4096);
	assert_int_equal(f->events[8].detail, EVICT_TRUNCATE);
	assert_int_equal(f->events[8].description, TRACE_NO_DESCRIPTION);
}

static void mappings(void **state)
{
	struct fixture *f = *state;
	struct trace_record r = record(1, NOTE_FAULT, 20, 0);

	begin(f, 1, 5, 0);
	take(f, r);
	/* Page 16 of the file at 0x7f0000003000. */
	r.vma = (struct trace_vma){0x7f0000003000, 0x7f0000013000, 16, 0x7f0000007123};
	r.flags = NOTE_MISSING | NOTE_VM_RANDOM;
	take(f, r);
	r = record(1, NOTE_MAP, 16, 8);
	r.vma = (struct trace_vma){0x7f0000003000, 0x7f0000013000, 16, 0x7f0000003fff};
	take(f, r);
	decode(f, 0);
	assert_int_equal(f->events[1].map.id, TRACE_NO_DESCRIPTION);
	assert_int_equal(f->events[2].map.id, 0);
	assert_int_equal(f->events[2].flags, TRACE_MISSING | TRACE_VM_RANDOM);
	assert_int_equal(f->events[2].map.first_page, 16);
	assert_int_equal(f->events[2].map.nr_pages, 16);
	assert_int_equal(f->events[2].map.align, (0x7f0000003ull - 16) % 512);
	assert_int_equal(f->events[3].map.id, 0);
	assert_int_equal(f->events[3].map.touched, 1 + 16);
}

static const char *began(struct fixture *f, size_t i)
{
	struct traced_row row;

	traces_row(traces_at(f->t, i), &row);
	return row.began;
}

static void warm_or_cold(void **state)
{
	struct fixture *f = *state;
	struct file_key key = key_of(9);

	begin(f, 1, 5, 0);
	begin(f, 2, 5, 3);
	begin(f, 3, 5, 4);
	assert_int_equal(traces_add_warm(f->t, 9, &key), 0);
	take(f, record(1, NOTE_READ, 0, 1));
	take(f, record(2, NOTE_READ, 0, 1));
	/* The cached pages were just added: these additions are why it was chosen. */
	take(f, record(3, NOTE_ADD, 0, 4));
	assert_string_equal(began(f, 0), "cold");
	assert_string_equal(began(f, 1), "warm");
	assert_string_equal(began(f, 2), "cold");
	assert_string_equal(began(f, 3), "warm");
}

/* Nothing is left out silently: an event that cannot be kept breaks the trace. */
static void bounds(void **state)
{
	struct fixture *f = *state;
	struct traced_row row;
	int i;

	make(f, 100, 1024);
	begin(f, 1, 5, 0);
	for (i = 0; i < 1000 && traces_at(f->t, 0)->live; i++)
		take(f, record(1, NOTE_READ, (uint64_t)i * 7919 % 1000003, 100));
	assert_in_range(i, 60, 300);
	traces_row(traces_at(f->t, 0), &row);
	assert_string_equal(row.state, "broken");
	assert_non_null(strstr(row.reason, "events were lost before"));
	assert_true(row.data_bytes <= 1024);
	assert_true(traces_full(f->t));
	/* Further events are no error, and change nothing. */
	take(f, record(1, NOTE_READ, 0, 1));
	assert_int_equal(traces_at(f->t, 0)->events, row.events);
}

static void written_or_not(void **state)
{
	struct fixture *f = *state;
	struct traced_row row;

	begin(f, 1, 5, 0);
	take(f, record(1, NOTE_READ, 0, 1));
	traces_set_db_id(traces_at(f->t, 0), 12);
	traces_unwritten(f->t);
	traces_row(traces_at(f->t, 0), &row);
	assert_int_equal(row.db_id, 0);
	assert_int_equal(row.events, 2);
	assert_int_equal(row.seq, 0);
	assert_true(row.dirty);
	traces_set_db_id(traces_at(f->t, 0), 13);
	traces_written(f->t);
	take(f, record(1, NOTE_READ, 5, 1));
	traces_row(traces_at(f->t, 0), &row);
	assert_int_equal(row.db_id, 13);
	assert_int_equal(row.seq, 1);
	assert_false(row.dirty);
	/* A chunk starts with fresh state. */
	decode(f, 0);
	assert_int_equal(f->nr, 1);
	assert_int_equal(f->events[0].pos, 5);
	assert_int_equal(f->events[0].time_ns, 500);
}

static double stands_for(struct fixture *f, size_t i)
{
	struct traced_row row;

	traces_row(traces_at(f->t, i), &row);
	return row.stands_for;
}

/* With a quarter of all hashes each file stands for four, without those that are traced anyway. */
static void weights(void **state)
{
	uint32_t threshold[NR_STRATA];
	struct fixture *f = *state;
	struct file_key key = key_of(9);
	struct trace_record r = record(9, NOTE_READ, 0, 1);

	memset(threshold, 0xff, sizeof(threshold));
	begin(f, 1, 1, 0);
	begin(f, 2, 2, 0);
	begin(f, 3, 1u << 30, 0);
	traces_see_thresholds(f->t, threshold);
	for (size_t i = 0; i < 3; i++)
		assert_true(stands_for(f, i) == 1);
	threshold[3] = 1u << 30;
	traces_see_thresholds(f->t, threshold);
	assert_true(stands_for(f, 0) > 3.99 && stands_for(f, 0) < 4.01);
	assert_true(stands_for(f, 2) < 0);
	assert_int_equal(traces_add_warm(f->t, 9, &key), 0);
	r.size_bytes = 1 << 20;
	take(f, r);
	traces_see_thresholds(f->t, threshold);
	assert_true(stands_for(f, 1) > 3.49 && stands_for(f, 1) < 3.51);
	assert_true(stands_for(f, 3) == 1);
}

static void strange_records(void **state)
{
	struct trace_record r = record(77, NOTE_READ, 0, 1);
	struct fixture *f = *state;

	assert_int_equal(traces_take(f->t, &r, sizeof(r)), -ENOENT);
	assert_int_equal(traces_take(f->t, &r, sizeof(r) - 1), -EMSGSIZE);
	begin(f, 1, 5, 0);
	r.number = 1;
	r.kind = 13;
	take(f, r);
	assert_false(traces_at(f->t, 0)->live);
}

#define TRACES_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRACES_TEST(first_access),
		TRACES_TEST(descriptions),
		TRACES_TEST(a_description_of_two_tasks),
		TRACES_TEST(settings),
		TRACES_TEST(mappings),
		TRACES_TEST(warm_or_cold),
		TRACES_TEST(bounds),
		TRACES_TEST(written_or_not),
		TRACES_TEST(weights),
		TRACES_TEST(strange_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
