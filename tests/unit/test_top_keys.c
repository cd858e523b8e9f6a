/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: top report access */
/* Keys change the view as in docs/top.md: a table of keys, the view in which each is pressed,
 * and the changes it makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/top/view.h"

static const struct top_around around = {.nr_rows = 50,
					 .cursor = 10,
					 .page = 7,
					 .cursor_id = 33,
					 .cursor_name = "/a/b",
					 .run_id = 4,
					 .cursor_run_id = 9,
					 .begin_ns = 5000000000,
					 .started_ns = 1700000000500000000};

static struct top_view pressed(struct top_view v, const uint32_t *keys)
{
	for (; *keys; keys++)
		assert_false(top_view_key(&v, *keys, &around));
	return v;
}

#define PRESS(...) pressed(top_view_new(), (const uint32_t[]){__VA_ARGS__, 0})

static void a_row_is_chosen(void **state)
{
	static const struct {
		uint32_t key;
		size_t cursor;
	} moves[] = {
		{TOP_KEY_UP, 9},      {'k', 9},
		{TOP_KEY_DOWN, 11},   {'j', 11},
		{TOP_KEY_PAGE_UP, 3}, {TOP_KEY_PAGE_DOWN, 17},
		{TOP_KEY_HOME, 0},    {TOP_KEY_END, 49},
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		assert_int_equal(PRESS(moves[i].key).cursor, moves[i].cursor);
}

static void rows_end_somewhere(void **state)
{
	static const uint32_t keys[] = {TOP_KEY_UP,	   TOP_KEY_DOWN, TOP_KEY_PAGE_UP,
					TOP_KEY_PAGE_DOWN, TOP_KEY_HOME, TOP_KEY_END};
	struct top_around ends = {.nr_rows = 1, .page = 0, .cursor_id = 1};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct top_view v = top_view_new();

		top_view_key(&v, keys[i], &ends);
		assert_int_equal(v.cursor, 0);
	}
	ends = (struct top_around){.cursor_id = TOP_NO_ROW};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct top_view v = top_view_new();

		top_view_key(&v, keys[i], &ends);
		assert_int_equal(v.cursor, 0);
	}
}

static void levels_and_order(void **state)
{
	assert_int_equal(PRESS(TOP_KEY_TAB).level, TOP_DIRECTORIES);
	assert_int_equal(PRESS(TOP_KEY_TAB, TOP_KEY_TAB).level, TOP_FILES);
	assert_int_equal(PRESS(TOP_KEY_TAB, TOP_KEY_TAB, TOP_KEY_TAB).level, TOP_PROCESSES);
	assert_int_equal(PRESS(TOP_KEY_BACK_TAB).level, TOP_RUNS);
	assert_int_equal(PRESS(TOP_KEY_BACK_TAB, TOP_KEY_BACK_TAB).level, TOP_PROCESSES);
	assert_int_equal(PRESS('0').level, TOP_RUNS);
	assert_int_equal(PRESS('3').level, TOP_FILES);
	assert_int_equal(PRESS('4').level, TOP_PROCESSES);
	/* Only waits and reads are known of a process. */
	assert_false(PRESS('4', TOP_KEY_ENTER).detail);
	assert_non_null(PRESS('4', TOP_KEY_ENTER).complaint);
	assert_int_equal(PRESS('3', '1').level, TOP_JOBS);
	assert_int_equal(PRESS(TOP_KEY_DOWN, '2').cursor, 0);
	assert_int_equal(PRESS('s').sort, TOP_LOOKUPS);
	assert_int_equal(PRESS('>').sort, TOP_LOOKUPS);
	assert_int_equal(PRESS('<').sort, TOP_HITS);
	assert_int_equal(PRESS('<', '<', '<').sort, TOP_CALLS);
	assert_true(PRESS('r').reversed);
	assert_false(PRESS('r', 'r').reversed);
	assert_false(PRESS('r', '>').reversed);
}

static void detail_keeps_its_row(void **state)
{
	struct top_view v = PRESS(TOP_KEY_ENTER);

	assert_true(v.detail);
	assert_int_equal(v.pinned, 33);
	v = PRESS(TOP_KEY_ENTER, TOP_KEY_DOWN);
	assert_int_equal(v.pinned, TOP_NO_ROW);
	assert_int_equal(v.cursor, 11);
	assert_false(PRESS(TOP_KEY_ENTER, TOP_KEY_ENTER).detail);
	assert_false(PRESS(TOP_KEY_ENTER, TOP_KEY_ESCAPE).detail);
}

static void filter_is_typed(void **state)
{
	struct top_view v = PRESS('/', 'q', 'x', 0x20ac);

	assert_int_equal(v.typing, TOP_TYPING_FILTER);
	assert_string_equal(v.filter, "qx\u20ac");
	assert_string_equal(PRESS('/', 'a', 0x20ac, TOP_KEY_BACKSPACE).filter, "a");
	assert_string_equal(PRESS('/', TOP_KEY_BACKSPACE, 127, 8).filter, "");
	v = PRESS('/', 'a', TOP_KEY_ENTER, '?');
	assert_string_equal(v.filter, "a");
	assert_true(v.help);
	assert_string_equal(PRESS('/', 'a', TOP_KEY_ESCAPE).filter, "");
	assert_string_equal(PRESS('/', 'a', TOP_KEY_ENTER, TOP_KEY_ESCAPE).filter, "");
	/* Typing continues after the existing text. */
	assert_string_equal(PRESS('/', 'a', TOP_KEY_ENTER, '/', 'b').filter, "ab");
	/* Keys that are not text do not enter the filter. */
	assert_string_equal(PRESS('/', 'a', 1, TOP_KEY_UP, TOP_KEY_TAB).filter, "a");
}

static void filter_is_bounded(void **state)
{
	struct top_view v = PRESS('/');

	for (int i = 0; i < 200; i++)
		top_view_key(&v, 0x1f600, &around);
	assert_int_equal(strlen(v.filter), TOP_TYPED_MAX / 4 * 4);
}

static void time_is_held_and_followed(void **state)
{
	struct top_view v = PRESS('p');

	assert_int_equal(v.pace, TOP_HOLD);
	assert_int_equal(v.at_ns, around.begin_ns);
	assert_int_equal(v.steps, 0);
	v = PRESS(' ', ' ');
	assert_int_equal(v.pace, TOP_FOLLOW);
	assert_int_equal(v.at_ns, TOP_NEWEST);
	v = PRESS(TOP_KEY_LEFT);
	assert_int_equal(v.pace, TOP_HOLD);
	assert_int_equal(v.steps, -1);
	assert_int_equal(PRESS(TOP_KEY_RIGHT).steps, 1);
	assert_int_equal(PRESS('[').steps, -10);
	assert_int_equal(PRESS(']').steps, 10);
	assert_int_equal(PRESS(TOP_KEY_LEFT, 'l').at_ns, TOP_NEWEST);
}

static void far_away(void **state)
{
	struct top_view v = PRESS('m');

	assert_true(v.worst);
	assert_int_equal(v.pace, TOP_HOLD);
	v = PRESS(TOP_KEY_LEFT, '}', '}');
	assert_int_equal(v.run_steps, 2);
	assert_int_equal(v.pace, TOP_FOLLOW);
	assert_int_equal(v.steps, 0);
	assert_int_equal(PRESS('{').run_steps, -1);
}

static void replay_plays_on(void **state)
{
	struct top_around stored = around;
	struct top_view v = top_view_new();

	stored.replay = true;
	top_view_key(&v, TOP_KEY_LEFT, &stored);
	top_view_key(&v, ' ', &stored);
	assert_int_equal(v.pace, TOP_PLAY);
	assert_int_equal(v.at_ns, stored.begin_ns);
	top_view_key(&v, ' ', &stored);
	assert_int_equal(v.pace, TOP_HOLD);
}

static void times_are_gone_to(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} times[] = {
		{"90", 90000},
		{"0", 0},
		{"2m", 120000},
		{"1500ms", 1500},
		{"1.5m", 90000},
		{"0.5", 500},
		{"1:30", 90000},
		{"1:05:00", 3900000},
		{"0:00:07", 7000},
		{"100:00:00", 360000000},
		{"", -1},
		{":", -1},
		{"1:", -1},
		{":1", -1},
		{"1:60", -1},
		{"1:2:3:4", -1},
		{"x", -1},
		{"+30", 35000},
		{"-2", 3000},
		{"-2m", 0},
		{"+0:10", 15000},
		{"+", -1},
		{"--2", -1},
		{"+-2", -1},
		{"@", -1},
		/* The run began at 22:13:20.5. */
		{"@22:14", 39500},
		{"@22:13:30", 9500},
		{"@00:00", 0},
		{"@23:13:20", 3599500},
		{"@24:00", -1},
		{"@22:60", -1},
		{"@22:14:", -1},
		{"@22:14:61", -1},
		{"@22", -1},
		{"@22:14x", -1},
		{"@22:14:1x", -1},
		{"@-1:00", -1},
		{"1 ", -1},
		{"99999999999999999999", -1},
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		int64_t ns = -1;
		int r = top_view_time(times[i].text, &around, &ns);

		if ((r == 0) != (times[i].ms >= 0) || (!r && ns != times[i].ms * 1000000))
			fail_msg("'%s': %d, %lld ns", times[i].text, r, (long long)ns);
	}
}

static void time_is_typed(void **state)
{
	struct top_view v = PRESS('g', '9', '0', TOP_KEY_ENTER);

	assert_int_equal(v.pace, TOP_HOLD);
	assert_int_equal(v.at_ns, 90000000000);
	assert_null(v.complaint);
	v = PRESS('g', 'x', TOP_KEY_ENTER);
	assert_int_equal(v.pace, TOP_FOLLOW);
	assert_non_null(v.complaint);
	assert_null(PRESS('g', 'x', TOP_KEY_ENTER, TOP_KEY_DOWN).complaint);
	assert_int_equal(PRESS('g', '9', TOP_KEY_ESCAPE).pace, TOP_FOLLOW);
	assert_int_equal(PRESS('g', TOP_KEY_ENTER).pace, TOP_FOLLOW);
}

static void zooms(void **state)
{
	struct top_around nothing = {.cursor_id = TOP_NO_ROW};
	struct top_view v = PRESS('z');

	assert_int_equal(v.level, TOP_DIRECTORIES);
	assert_string_equal(v.filter, "");
	v = PRESS('2', 'z');
	assert_int_equal(v.level, TOP_FILES);
	assert_string_equal(v.filter, "/a/b/");
	v = PRESS('3', 'z');
	assert_string_equal(v.filter, "");
	v = top_view_new();
	top_view_key(&v, 'z', &nothing);
	assert_int_equal(v.level, TOP_JOBS);
}

static void zooms_out(void **state)
{
	static const uint32_t keys[] = {TOP_KEY_BACKSPACE, 8, 127, TOP_KEY_ESCAPE};
	struct top_view v;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		v = PRESS('z', '/', 'x', TOP_KEY_ENTER, 'z', keys[i]);
		assert_int_equal(v.level, TOP_DIRECTORIES);
		assert_string_equal(v.filter, "x");
		assert_int_equal(v.cursor, 10);
		v = PRESS('z', 'z', keys[i], keys[i]);
		assert_int_equal(v.level, TOP_JOBS);
		assert_string_equal(v.filter, "");
		assert_int_equal(PRESS('z', keys[i], keys[i], keys[i]).level, TOP_JOBS);
	}
	/* One step at a time: detail and typed filter, then the zoom. */
	v = PRESS('2', 'z', TOP_KEY_ENTER, '/', 'c', TOP_KEY_ENTER, TOP_KEY_ESCAPE);
	assert_int_equal(v.level, TOP_FILES);
	assert_false(v.detail);
	assert_string_equal(v.filter, "/a/b/");
	assert_string_equal(PRESS('2', 'z', '/', 'c', TOP_KEY_ESCAPE).filter, "/a/b/");
	/* Changing the level resets all of it. */
	static const uint32_t leaving[] = {'1', '2', TOP_KEY_TAB, TOP_KEY_BACK_TAB};
	for (size_t i = 0; i < sizeof(leaving) / sizeof(leaving[0]); i++) {
		v = PRESS('2', 'z', leaving[i]);
		assert_string_equal(v.filter, "");
		assert_int_equal(v.nr_zooms, 0);
	}
	/* A job of another run, and back to the previous one. */
	v = PRESS('[', '0', 'z');
	assert_int_equal(v.level, TOP_DIRECTORIES);
	assert_int_equal(v.run_id, 9);
	assert_int_equal(v.at_ns, TOP_NEWEST);
	v = PRESS('0', 'z', TOP_KEY_BACKSPACE);
	assert_int_equal(v.level, TOP_RUNS);
	assert_int_equal(v.run_id, 4);
	/* A typed filter is kept as usual. */
	assert_string_equal(PRESS('2', '/', 'q', TOP_KEY_ENTER, '3').filter, "q");
	assert_string_equal(PRESS('2', '/', 'q', TOP_KEY_ENTER, 'z', '1').filter, "q");
}

static void long_names_are_no_filter(void **state)
{
	struct top_around longer = around;
	struct top_view v = PRESS('2');
	char name[TOP_TYPED_MAX + 1];

	memset(name, 'x', sizeof(name));
	name[TOP_TYPED_MAX] = '\0';
	longer.cursor_name = name;
	top_view_key(&v, 'z', &longer);
	assert_int_equal(v.level, TOP_DIRECTORIES);
	assert_non_null(v.complaint);
	name[TOP_TYPED_MAX - 1] = '\0';
	top_view_key(&v, 'z', &longer);
	assert_int_equal(v.level, TOP_FILES);
	assert_int_equal(strlen(v.filter), TOP_TYPED_MAX);
}

static void leaves(void **state)
{
	struct top_view v = top_view_new();

	assert_true(top_view_key(&v, 'q', &around));
	/* A typed q, or a q that leaves the help, does not quit. */
	assert_false(PRESS('?', 'q').help);
	assert_string_equal(PRESS('/', 'q').filter, "q");
}

static void columns_are_named(void **state)
{
	struct top_view v = top_view_new();

	v.reversed = true;
	assert_int_equal(top_view_sort(&v, "evicted"), 0);
	assert_int_equal(v.sort, TOP_EVICTED);
	assert_false(v.reversed);
	assert_true(top_view_sort(&v, "") < 0);
	assert_true(top_view_sort(&v, "HITS") < 0);
	assert_int_equal(v.sort, TOP_EVICTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_chosen),
		cmocka_unit_test(rows_end_somewhere),
		cmocka_unit_test(levels_and_order),
		cmocka_unit_test(detail_keeps_its_row),
		cmocka_unit_test(filter_is_typed),
		cmocka_unit_test(filter_is_bounded),
		cmocka_unit_test(time_is_held_and_followed),
		cmocka_unit_test(far_away),
		cmocka_unit_test(replay_plays_on),
		cmocka_unit_test(times_are_gone_to),
		cmocka_unit_test(time_is_typed),
		cmocka_unit_test(zooms),
		cmocka_unit_test(zooms_out),
		cmocka_unit_test(long_names_are_no_filter),
		cmocka_unit_test(leaves),
		cmocka_unit_test(columns_are_named),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
