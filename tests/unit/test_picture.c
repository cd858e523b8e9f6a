/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account access m */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/render/picture.h"

static const double from[] = {0, 1, 2, 3};
static const double to[] = {1, 2, 3, 4};

static struct picture spans(void)
{
	return (struct picture){
		.axis = {
			.unit = UNIT_SECONDS, .kind = AXIS_SPANS, .from = from, .to = to, .nr = 4}};
}

/* Steps as a person would choose them, and only as many as fit. */
static void ticks_are_round(void **state)
{
	static const struct {
		double top;
		size_t max;
		double step;
		size_t nr;
	} table[] = {
		{1, 4, 0.25, 4},      {1, 5, 0.2, 5},	    {10, 4, 2.5, 4}, {9.9, 4, 2.5, 3},
		{100, 3, 50, 2},      {26173, 3, 10000, 2}, {7, 7, 1, 7},    {0.003, 3, 0.001, 3},
		{1e12, 4, 2.5e11, 4}, {0, 4, 0, 0},	    {NAN, 4, 0, 0},  {INFINITY, 4, 0, 0},
		{5, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double step = -1;
		size_t nr = picture_ticks(table[i].top, table[i].max, &step);

		if (nr != table[i].nr || fabs(step - table[i].step) > 1e-9 * fabs(step))
			fail_msg("%g by %zu: %zu of %g", table[i].top, table[i].max, nr, step);
	}
}

/* 679 MiB in steps of MiB, not of millions. */
static void ticks_of_bytes(void **state)
{
	double step = 0;

	(void)state;
	assert_int_equal(picture_ticks_in(UNIT_BYTES, 679.0 * (1 << 20), 6, &step), 3);
	assert_true(step == 200.0 * (1 << 20));
	assert_int_equal(picture_ticks_in(UNIT_PAGES, 679.0 * (1 << 20), 6, &step), 3);
	assert_true(step == 2e8);
}

/* A day in hours, not in thousands of seconds. */
static void ticks_of_time(void **state)
{
	static const struct {
		double top, step;
		size_t nr;
	} table[] = {{40.9, 10, 4},	 {61, 20, 3},	     {130, 30, 4},	{400, 120, 3},
		     {3600, 600, 6},	 {5000, 900, 5},     {86400, 21600, 4}, {86399, 21600, 3},
		     {250000, 43200, 5}, {864000, 172800, 5}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double step = 0;
		size_t nr = picture_ticks_in(UNIT_SECONDS, table[i].top, 6, &step);

		if (nr != table[i].nr || step != table[i].step)
			fail_msg("%g: %zu of %g", table[i].top, nr, step);
	}
}

/* Labels of an axis have no trailing zeros. */
static void round_values(void **state)
{
	static const struct {
		enum picture_unit unit;
		double value;
		const char *want;
	} table[] = {
		{UNIT_SHARE, 0.5, "50 %"},     {UNIT_SHARE, 0.125, "12.5 %"},
		{UNIT_SHARE, 1, "100 %"},      {UNIT_SECONDS, 10, "10 s"},
		{UNIT_SECONDS, 2.5, "2.5 s"},  {UNIT_SECONDS, 0.02, "20 ms"},
		{UNIT_SECONDS, 120, "2m"},     {UNIT_SECONDS, 150, "2m 30s"},
		{UNIT_SECONDS, 7200, "2h"},    {UNIT_SECONDS, 5400, "1h 30m"},
		{UNIT_SECONDS, 172800, "48h"}, {UNIT_SECONDS, 0, "0 s"},
		{UNIT_BYTES, 65536, "64 KiB"}, {UNIT_BYTES, 1 << 20, "1 MiB"},
		{UNIT_BYTES, 100, "100 B"},    {UNIT_NUMBER, 0.4, "0.4"},
		{UNIT_NUMBER, 1, "1"},	       {UNIT_NUMBER, 0.25, "0.25"},
		{UNIT_COUNT, 20000, "20,000"}, {UNIT_COUNT, NAN, "-"},
		{UNIT_COUNT, 1000, "1,000"},   {UNIT_BYTES, 100 << 20, "100 MiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_string_equal(picture_round(table[i].unit, table[i].value).s, table[i].want);
}

static void tops(void **state)
{
	static const double a[] = {1, 2, NAN, 4};
	static const double b[] = {5, NAN, NAN, 1};
	static const double none[] = {NAN, NAN, NAN, NAN};
	const struct picture_series series[] = {{.values = a}, {.values = b}};
	const struct picture_series unknown[] = {{.values = none}};
	struct picture_panel p = {.kind = PANEL_STACK, .series = series, .nr_series = 2};

	(void)state;
	assert_true(picture_top(&p, 4) == 6);
	p.kind = PANEL_LINES;
	assert_true(picture_top(&p, 4) == 5);
	p.top = 1;
	assert_true(picture_top(&p, 4) == 1);
	p = (struct picture_panel){.kind = PANEL_STACK, .series = unknown, .nr_series = 1};
	assert_true(isnan(picture_top(&p, 4)));
}

static void line_is(const struct picture *p, const double *values, size_t room, const char *want)
{
	const struct picture_series s = {.values = values};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	picture_sparkline(out, p, &s, room);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

/* The maximum of the values that a character represents; unknown is not 0. */
static void sparklines(void **state)
{
	static const double rising[] = {0, 1, 4, 8};
	static const double gaps[] = {NAN, 8, 0, NAN};
	static const double zero[] = {0, 0, 0, 0};
	struct picture p = spans();

	(void)state;
	line_is(&p, rising, 50, "_▂▅█");
	line_is(&p, rising, 2, "▂█");
	line_is(&p, gaps, 50, "?█_?");
	line_is(&p, gaps, 2, "█_");
	line_is(&p, zero, 50, "____");
	p.axis = (struct picture_axis){.kind = AXIS_PLACES, .from = from, .nr = 4};
	line_is(&p, rising, 50, "_▂▅█");
	p.axis = (struct picture_axis){.kind = AXIS_NAMES, .nr = 4};
	line_is(&p, rising, 50, "_▂▅█");
}

static void values_for_people(void **state)
{
	(void)state;
	assert_string_equal(picture_value(UNIT_PAGES_PER_S, 1234567).s, "1,234,567 pages/s");
	assert_string_equal(picture_value(UNIT_SHARE, 0.931).s, "93.1 %");
	assert_string_equal(picture_value(UNIT_BYTES, 1 << 20).s, "1.00 MiB");
	assert_string_equal(picture_value(UNIT_SECONDS, 12.5).s, "12.5 s");
	assert_string_equal(picture_value(UNIT_NUMBER, 1.2).s, "1.20");
	assert_string_equal(picture_value(UNIT_COUNT, NAN).s, "-");
	assert_string_equal(picture_value(UNIT_COUNT, -1).s, "-");
	assert_string_equal(picture_value(UNIT_COUNT, INFINITY).s, "-");
}

static void places(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	struct picture p = spans();

	(void)state;
	assert_string_equal(picture_place(&p, 0).s, "0 s");
	assert_string_equal(picture_place(&p, 1).s, "4.00 s");
	p.axis = (struct picture_axis){.kind = AXIS_NAMES, .names = names, .nr = 3};
	assert_string_equal(picture_place(&p, 0).s, "a");
	assert_string_equal(picture_place(&p, 1).s, "c");
}

/* A run of 4 s next to one of 8 s: it fills half of the line, at half of the other's height. */
static void shared_scales(void **state)
{
	static const double values[] = {1, 2, 4, NAN};
	struct picture_series s = {.name = "s", .values = values, .top = 8};
	struct picture p = spans();
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	double step = 0;

	(void)state;
	p.axis.most = 8;
	assert_true(picture_begin(&p) == 0);
	assert_true(picture_end(&p) == 8);
	picture_sparkline(out, &p, &s, 8);
	fclose(out);
	assert_string_equal(text, "▂▃▅?....");
	free(text);
	/* A count of runs has no fractions. */
	assert_int_equal(picture_ticks_in(UNIT_COUNT, 2, 6, &step), 2);
	assert_true(step == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(ticks_of_bytes),
		cmocka_unit_test(ticks_of_time),
		cmocka_unit_test(round_values),
		cmocka_unit_test(tops),
		cmocka_unit_test(sparklines),
		cmocka_unit_test(shared_scales),
		cmocka_unit_test(values_for_people),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
