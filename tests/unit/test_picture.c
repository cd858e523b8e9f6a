/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report advisor account util m */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/picture.h"

static const double from[] = {0, 1, 2, 3};
static const double to[] = {1, 2, 3, 4};

static struct picture spans(void)
{
	return (struct picture){
		.axis = {
			.unit = UNIT_SECONDS, .kind = AXIS_SPANS, .from = from, .to = to, .nr = 4}};
}

/* Steps that a person would choose, and no more of them than there is room for. */
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

/* The highest of what a character stands for; what is not known is no zero. */
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

/* A run of 4 s beside one of 8 s: half of the line is its own, and half as high as the other's. */
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
	/* There is no half of a run. */
	assert_int_equal(picture_ticks_in(UNIT_COUNT, 2, 6, &step), 2);
	assert_true(step == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(ticks_of_bytes),
		cmocka_unit_test(tops),
		cmocka_unit_test(sparklines),
		cmocka_unit_test(shared_scales),
		cmocka_unit_test(values_for_people),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
