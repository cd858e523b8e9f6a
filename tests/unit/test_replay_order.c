/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: readaheadcheck advisor */
/*
 * The meaning of the order of events: traces made by hand, in the order in which the kernel writes
 * them, replayed with the setting in force.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/cachemon.h"
#include "advisor/readahead/replay.h"
#include "tape.h"

enum { RA_PAGES = 32, PAGE_BYTES = 4096 };

static struct ra_replay_result replayed(const struct tape *t, bool warm)
{
	struct ra_replay_input in = {.kernel = ra_kernel_named("6.18"),
				     .events = t->event,
				     .nr_events = t->events,
				     .max_order = 9,
				     .device_pages = RA_PAGES,
				     .io_pages = TAPE_IO_PAGES,
				     .warm = warm};
	struct ra_setting as_it_was = {RA_SETTING_ACTUAL, 0};
	struct ra_replay_result r = {0};

	assert_int_equal(ra_replay(&in, as_it_was, &r), 0);
	return r;
}

static void put_open(struct tape *t)
{
	static const struct trace_event open = {
		.kind = TRACE_OPEN, .pos = 4 << 20, .ra_pages = RA_PAGES, .ra = {.prev_pos = -1}};

	tape_put(t, &open);
}

static void put_touch(struct tape *t, uint8_t kind, uint32_t flags, uint64_t page)
{
	struct trace_event e = {.kind = kind,
				.flags = flags,
				.pos = kind == TRACE_MAP ? page / 16 * 16 : page,
				.len = kind == TRACE_MAP ? 16 : 0,
				.map = {.nr_pages = 1024}};

	if (kind == TRACE_MAP)
		e.map.touched = page + 1;
	tape_put(t, &e);
}

static void put_pages(struct tape *t, uint64_t first, uint64_t end)
{
	for (uint64_t page = first; page < end; page++) {
		struct trace_event e = {.kind = TRACE_ADD, .pos = page, .len = 1};

		tape_put(t, &e);
	}
}

/*
 * Fault-around mapped pages next to the touched one, then that one was requested. Once it had
 * arrived, fault-around was tried again, with or without success: one touch, and one window.
 */
static void a_touch_of_many_events_is_one(void **state)
{
	struct ra_replay_result actual;
	struct tape t = {0};

	put_open(&t);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 100);
	put_pages(&t, 84, 116);
	put_touch(&t, TRACE_MAP, 0, 100);
	put_touch(&t, TRACE_MAP, 0, 80);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 80);
	put_pages(&t, 64, 84);
	put_touch(&t, TRACE_MAP, 0, 80);
	put_touch(&t, TRACE_MAP, 0, 116);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 116);
	put_pages(&t, 116, 132);
	put_touch(&t, TRACE_MAP, 0, 116);
	put_touch(&t, TRACE_FAULT, TRACE_RETRY, 116);
	put_touch(&t, TRACE_MAP, 0, 125);
	actual = replayed(&t, false);
	assert_int_equal(actual.windows, 3);
	assert_int_equal(actual.exact_windows, 3);
	assert_int_equal(actual.mapped, 4);
	assert_int_equal(actual.totals.stalls, 3);
	assert_false(actual.shared);
	tape_free(&t);
}

/* The same page again after it left is another touch. */
static void a_page_that_left_is_touched_anew(void **state)
{
	static const struct trace_event gone = {.kind = TRACE_REMOVE,
						.detail = EVICT_RECLAIM_KSWAPD,
						.pos = 90,
						.len = 20,
						.description = TRACE_NO_DESCRIPTION};
	struct ra_replay_result actual;
	struct tape t = {0};

	put_open(&t);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 100);
	put_pages(&t, 84, 116);
	put_touch(&t, TRACE_MAP, 0, 100);
	tape_put(&t, &gone);
	put_touch(&t, TRACE_MAP, 0, 100);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 100);
	put_pages(&t, 90, 110);
	put_touch(&t, TRACE_MAP, 0, 100);
	actual = replayed(&t, false);
	assert_int_equal(actual.windows, 2);
	assert_int_equal(actual.exact_windows, 2);
	tape_free(&t);
}

static void put_window(struct tape *t, uint64_t first, uint32_t pages)
{
	struct trace_event e = {.kind = TRACE_WINDOW,
				.detail = TRACE_ORDER,
				.pos = first,
				.ra = {.start = first, .size = pages, .async_size = pages / 4}};

	tape_put(t, &e);
}

/*
 * Pages 96 to 103 were cached before: fault-around mapped some of them next to page 90, which was
 * not cached, and the window left them out. Page 320 was cached too, since no fault followed.
 */
static void what_was_cached_before_is_found(void **state)
{
	struct ra_replay_result actual;
	struct tape t = {0};

	put_open(&t);
	put_touch(&t, TRACE_MAP, 0, 95);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 95);
	put_window(&t, 79, 32);
	put_pages(&t, 79, 96);
	put_pages(&t, 104, 111);
	put_touch(&t, TRACE_MAP, 0, 95);
	put_touch(&t, TRACE_MAP, 0, 320);
	put_touch(&t, TRACE_FAULT, TRACE_MISSING, 330);
	put_window(&t, 314, 32);
	put_pages(&t, 314, 320);
	put_pages(&t, 321, 346);
	actual = replayed(&t, true);
	assert_int_equal(actual.windows, 2);
	assert_int_equal(actual.exact_windows, 2);
	tape_free(&t);
}

static void put_read(struct tape *t, uint32_t actor, uint64_t page, uint64_t pages)
{
	struct trace_event e = {.kind = TRACE_READ,
				.actor = actor,
				.pos = page * PAGE_BYTES,
				.len = pages * PAGE_BYTES};

	tape_put(t, &e);
}

static void put_folios(struct tape *t, uint32_t actor, uint64_t first, uint64_t end, uint8_t order)
{
	for (; first < end; first += 1ULL << order) {
		struct trace_event e = {.kind = TRACE_ADD,
					.actor = actor,
					.pos = first,
					.len = 1ULL << order,
					.order = order};

		tape_put(t, &e);
	}
}

/*
 * Two tasks read in order through one open file. While the second waits for pages 512 to 515, the
 * first reads on. The second reports the position of the open file once it has its pages, so that
 * its next read continues there.
 */
static void a_read_that_waits_ends_later(void **state)
{
	struct ra_replay_result actual;
	struct tape t = {0};

	put_open(&t);
	put_read(&t, 0, 0, 4);
	put_folios(&t, 0, 0, 8, 0);
	put_read(&t, 1, 512, 4);
	put_folios(&t, 1, 512, 516, 0);
	put_read(&t, 0, 4, 4);
	put_folios(&t, 0, 8, 24, 2);
	put_read(&t, 1, 516, 4);
	put_folios(&t, 1, 516, 524, 0);
	actual = replayed(&t, false);
	assert_int_equal(actual.windows, 4);
	assert_int_equal(actual.exact_windows, 4);
	assert_int_equal(actual.totals.windows, 4);
	assert_true(actual.shared);
	assert_false(actual.reads_of_none);
	tape_free(&t);
}

int main(void)
{
	/* A hang is a failure. */
	alarm(120);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_touch_of_many_events_is_one),
		cmocka_unit_test(a_page_that_left_is_touched_anew),
		cmocka_unit_test(what_was_cached_before_is_found),
		cmocka_unit_test(a_read_that_waits_ends_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
