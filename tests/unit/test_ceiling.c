/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access m */
/* The accelerator's ceiling, computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/analysis/grade.h"

#define S 1000000000

static struct opt_f64 f64(double v)
{
	return (struct opt_f64){v, true};
}

/* Two epochs of 100 bytes: the first waits 8 of 10 s, the second 1 of 10 s. */
static const struct ceiling_point points[] = {
	{5 * (int64_t)S, {4 * (int64_t)S, true}, {S, true}, {50, true}},
	{5 * (int64_t)S, {4 * (int64_t)S, true}, {S, true}, {50, true}},
	{5 * (int64_t)S, {S / 2, true}, {S, true}, {50, true}},
	{5 * (int64_t)S, {S / 2, true}, {S, true}, {50, true}},
};

static struct ceiling_input two_epochs(void)
{
	return (struct ceiling_input){
		.stall_ns = f64(9e9),
		.wall_ns = f64(20e9),
		.cpu_ns = f64(4e9),
		.read_bytes = f64(200),
		.dataset_bytes = f64(100),
		.points = points,
		.nr_points = 4,
	};
}

static void test_first_epoch_apart(void **state)
{
	struct ceiling_input in = two_epochs();
	struct ceiling c = ceiling_of(&in);

	assert_true(fabs(c.overall.value - 0.55) < 1e-9);
	assert_true(c.after_first_epoch.known);
	assert_true(fabs(c.after_first_epoch.value - 0.9) < 1e-9);
	assert_true(c.epochs.value == 2);
	assert_string_equal(c.line, ">= 90 %");
	assert_null(c.reason);
}

static void test_lines(void **state)
{
	struct ceiling_input in = {.stall_ns = f64(1e9), .wall_ns = f64(10e9)};

	assert_string_equal(ceiling_of(&in).line, ">= 90 %");
	in.stall_ns.value = 1.1e9;
	assert_string_equal(ceiling_of(&in).line, ">= 70 %");
	in.stall_ns.value = 3.1e9;
	assert_string_equal(ceiling_of(&in).line, "< 70 %");
}

static void test_not_known(void **state)
{
	struct ceiling_input in = two_epochs();
	struct ceiling_point broken[4];
	struct ceiling c;

	in.stall_ns.known = false;
	c = ceiling_of(&in);
	assert_false(c.overall.known);
	assert_false(c.after_first_epoch.known);
	assert_null(c.line);
	assert_non_null(strstr(c.reason, "not measured"));

	in = two_epochs();
	in.dataset_bytes.known = false;
	c = ceiling_of(&in);
	assert_true(c.overall.known);
	assert_false(c.after_first_epoch.known);
	assert_non_null(strstr(c.reason, "distinct bytes"));

	in = two_epochs();
	in.read_bytes = f64(140);
	assert_non_null(strstr(ceiling_of(&in).reason, "less than 1.5 times"));

	in = two_epochs();
	memcpy(broken, points, sizeof(points));
	broken[1].stall_ns.known = false;
	in.points = broken;
	c = ceiling_of(&in);
	assert_false(c.after_first_epoch.known);
	assert_non_null(strstr(c.reason, "timeline"));
	/* The line then follows from the whole run. */
	assert_string_equal(c.line, "< 70 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_epoch_apart),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
