/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: figures */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/figures/trace_code.h"

static const struct trace_ra begun = {
	.start = 96, .size = 32, .async_size = 24, .mmap_miss = 7, .prev_pos = 397312};
static const struct trace_ra fresh = {.prev_pos = -1};

static const struct trace_event all_kinds[] = {
	{.kind = TRACE_OPEN,
	 .time_ns = 5,
	 .pos = 1 << 20,
	 .ra_pages = 32,
	 .io_pages = 320,
	 .ra = fresh},
	{.kind = TRACE_READ, .time_ns = 9, .pos = 4095, .len = 2},
	{.kind = TRACE_READ, .time_ns = 8, .actor = 3, .pos = 4097, .len = UINT64_MAX},
	{.kind = TRACE_FAULT,
	 .description = 1,
	 .flags = TRACE_MISSING | TRACE_VM_RANDOM,
	 .pos = 17,
	 .map = {.id = 0, .align = 511, .first_page = 16, .nr_pages = 100}},
	{.kind = TRACE_FAULT,
	 .description = TRACE_NO_DESCRIPTION,
	 .map = {.id = TRACE_NO_DESCRIPTION}},
	{.kind = TRACE_MAP,
	 .pos = 16,
	 .len = 16,
	 .map = {.id = 2, .first_page = 0, .nr_pages = 256, .touched = 1}},
	{.kind = TRACE_ADVICE, .detail = 1, .call = 1, .pos = 10, .len = 0},
	{.kind = TRACE_WINDOW,
	 .detail = TRACE_ORDER,
	 .order = 2,
	 .pos = 96,
	 .ra_pages = UINT32_MAX,
	 .io_pages = 32,
	 .ra = begun},
	{.kind = TRACE_ADD, .description = TRACE_NO_DESCRIPTION, .pos = 96, .len = 4, .order = 2},
	{.kind = TRACE_REMOVE, .detail = 5, .pos = 96, .len = 4, .order = 2, .time_ns = UINT64_MAX},
	{.kind = TRACE_SIZE, .pos = UINT64_MAX},
	{.kind = TRACE_SETTING, .flags = TRACE_RANDOM, .ra_pages = 0, .io_pages = 0},
};
enum { NR_ALL = sizeof(all_kinds) / sizeof(all_kinds[0]) };

static void what_goes_in_comes_out(void **state)
{
	struct trace_coder in = {0}, out = {0};
	uint8_t data[NR_ALL * TRACE_EVENT_BYTES];
	size_t size = 0, at = 0;
	struct trace_event e;
	int i, n;

	for (i = 0; i < NR_ALL; i++) {
		n = trace_encode(&in, &all_kinds[i], sizeof(data) - size, data + size);
		assert_in_range(n, 1, TRACE_EVENT_BYTES);
		size += n;
	}
	for (i = 0; i < NR_ALL; i++) {
		memset(&e, 0xff, sizeof(e));
		n = trace_decode(&out, data + at, size - at, &e);
		assert_true(n > 0);
		at += n;
		assert_memory_equal(&e, &all_kinds[i], sizeof(e));
	}
	assert_int_equal(at, size);
	assert_int_equal(trace_decode(&out, data + at, 0, &e), 0);
}

/* A million reads of a scan should not be tens of megabytes. */
static void a_scan_is_small(void **state)
{
	struct trace_coder c = {0};
	struct trace_event e = {.kind = TRACE_READ, .len = 65536};
	uint8_t data[TRACE_EVENT_BYTES];
	int i, n, bytes = 0;

	for (i = 0; i < 1000; i++) {
		n = trace_encode(&c, &e, sizeof(data), data);
		assert_true(n > 0);
		bytes += n;
		e.pos += e.len;
		e.time_ns += 50000;
	}
	assert_true(bytes <= 9 * 1000);
}

static void an_event_with_fields_of_another_kind_is_refused(void **state)
{
	struct trace_event e = {.kind = TRACE_READ, .order = 1}, none = {0},
			   high = {.kind = TRACE_KIND_NR};
	uint8_t data[TRACE_EVENT_BYTES];
	struct trace_coder c = {0};

	assert_int_equal(trace_encode(&c, &e, sizeof(data), data), -EINVAL);
	assert_int_equal(trace_encode(&c, &none, sizeof(data), data), -EINVAL);
	assert_int_equal(trace_encode(&c, &high, sizeof(data), data), -EINVAL);
}

/* Every truncated event is an error, and an event that did not fit leaves the coder unchanged. */
static void cut_short_or_without_room(void **state)
{
	uint8_t data[TRACE_EVENT_BYTES], small[TRACE_EVENT_BYTES];
	struct trace_coder c, before;
	struct trace_event e;
	int i, n, cut;

	for (i = 0; i < NR_ALL; i++) {
		memset(&c, 0, sizeof(c));
		before = c;
		n = trace_encode(&c, &all_kinds[i], sizeof(data), data);
		assert_true(n > 0);
		for (cut = 0; cut < n; cut++) {
			c = before;
			assert_int_equal(trace_encode(&c, &all_kinds[i], cut, small), -ENOSPC);
			assert_memory_equal(&c, &before, sizeof(c));
			if (cut)
				assert_int_equal(trace_decode(&c, data, cut, &e), -EBADMSG);
			assert_memory_equal(&c, &before, sizeof(c));
		}
	}
}

/* The longest event, with all numbers at their maximum, is not longer than the limit. */
static void the_longest_event_fits(void **state)
{
	struct trace_event e = {.kind = TRACE_WINDOW,
				.detail = 255,
				.order = 255,
				.flags = UINT32_MAX,
				.description = UINT32_MAX - 1,
				.actor = UINT32_MAX,
				.time_ns = 1ull << 63,
				.pos = 1ull << 63,
				.len = UINT64_MAX,
				.ra_pages = UINT32_MAX,
				.io_pages = UINT32_MAX,
				.ra = {1ull << 63, UINT32_MAX, UINT32_MAX, UINT32_MAX, INT64_MIN}};
	struct trace_event map = {.kind = TRACE_MAP,
				  .flags = UINT32_MAX,
				  .description = UINT32_MAX - 1,
				  .actor = UINT32_MAX,
				  .time_ns = 1ull << 63,
				  .pos = 1ull << 63,
				  .len = UINT64_MAX,
				  .map = {1u << 31, UINT32_MAX, UINT64_MAX, UINT64_MAX, 1}};
	uint8_t data[TRACE_EVENT_BYTES];
	struct trace_coder c = {0}, d = {0};

	assert_true(trace_encode(&c, &e, sizeof(data), data) > 0);
	assert_true(trace_encode(&d, &map, sizeof(data), data) > 0);
}

/* Any bytes give an event or an error, and no read beyond them. */
static void random_bytes_are_events_or_errors(void **state)
{
	unsigned int seed = 20, round, i, size;
	struct trace_event e;
	long events = 0, errors = 0;
	int n;

	for (round = 0; round < 200000; round++) {
		struct trace_coder c = {0};
		uint8_t *data;
		size_t at = 0;

		size = 1 + rand_r(&seed) % 64;
		data = malloc(size); /* exact size: a sanitizer detects a read beyond it */
		assert_non_null(data);
		for (i = 0; i < size; i++)
			data[i] = rand_r(&seed) >> 8;
		data[0] &= 0x7f;
		do {
			n = trace_decode(&c, data + at, size - at, &e);
			assert_true(n == -EBADMSG || (n >= 0 && (size_t)n <= size - at));
			at += n > 0 ? n : 0;
			events += n > 0;
			errors += n < 0;
			if (n > 0)
				assert_in_range(e.kind, 1, TRACE_KIND_NR - 1);
		} while (n > 0);
		free(data);
	}
	assert_true(events > 10000 && errors > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(a_scan_is_small),
		cmocka_unit_test(an_event_with_fields_of_another_kind_is_refused),
		cmocka_unit_test(cut_short_or_without_room),
		cmocka_unit_test(the_longest_event_fits),
		cmocka_unit_test(random_bytes_are_events_or_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
