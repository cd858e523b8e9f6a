/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cachemon/collector/cost.h"

/* Every event costs ns at calibration; earlier runs are charged to no job. */
static struct cost_charge begun(double ns)
{
	struct calibration cal = {};
	uint64_t before[EV_NR];
	struct cost_charge c;

	for (int ev = 0; ev < EV_NR; ev++) {
		cal.ns[ev] = ns;
		before[ev] = 1000;
	}
	cost_charge_begin(&c, &cal, before);
	return c;
}

/* The cost of all programs; < 0: one of them is not known. */
static double sum_ns(const struct cost_charge *c)
{
	double sum = 0;

	for (int ev = 0; ev < EV_NR; ev++) {
		double ns = cost_charge_ns(c, (enum event)ev);

		if (ns < 0)
			return -1;
		sum += ns;
	}
	return sum;
}

/* This many reads and added pages since the beginning. */
static void ran(struct cost_charge *c, uint64_t reads, uint64_t adds)
{
	uint64_t runs[EV_NR];

	for (int ev = 0; ev < EV_NR; ev++)
		runs[ev] = 1000;
	runs[EV_READ] += reads;
	runs[EV_ADD] += adds;
	cost_charge_runs(c, runs);
}

static void nothing_ran_and_nothing_is_charged(void **state)
{
	struct cost_charge c = begun(50);

	ran(&c, 0, 0);
	assert_float_equal(sum_ns(&c), 0, 1e-9);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 0, 1e-9);
}

static void the_calibration_is_the_price_without_a_look(void **state)
{
	struct cost_charge c = begun(50);

	ran(&c, 10, 1);
	ran(&c, 20, 2);
	assert_float_equal(sum_ns(&c), 22 * 50, 1e-9);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 20 * 50, 1e-9);
}

/* A run of a second must not be charged at the price of hot reads if its reads cost four times
 * that. */
static void the_first_look_is_the_price_of_what_ran_before_it(void **state)
{
	struct cost_charge c = begun(100);

	ran(&c, 1000, 10);
	cost_charge_look(&c, EV_READ, 400);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 1000 * 400, 1e-9);
	assert_float_equal(sum_ns(&c), 1000 * 400 + 10 * 100, 1e-9);
}

static void the_first_three_looks_are_the_price_of_what_ran_before_the_second(void **state)
{
	struct cost_charge c = begun(100);

	ran(&c, 10, 0);
	cost_charge_look(&c, EV_READ, 900);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 10 * 900, 1e-9);
	ran(&c, 20, 0);
	cost_charge_look(&c, EV_READ, 300);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 20 * 300, 1e-9);
	cost_charge_look(&c, EV_READ, 400);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 20 * 400, 1e-9);
}

static void one_look_alone_is_a_disturbance(void **state)
{
	struct cost_charge c = begun(100);

	for (int i = 1; i <= 9; i++) {
		ran(&c, i * 100, 0);
		cost_charge_look(&c, EV_READ, i == 5 ? 5000 : 400);
	}
	assert_float_equal(cost_charge_ns(&c, EV_READ), 900 * 400, 1e-9);
}

/* Measurements at growing distances of a price that falls in one step: the reads around the step
 * are charged at the mean of both prices, all others at their own. (Charging the median of the last
 * three measurements would charge a job of a second, whose files were traced in its first half, for
 * traces to its end.) */
static void a_price_that_falls_is_followed(void **state)
{
	struct cost_charge c = begun(100);
	uint64_t at[] = {20, 60, 140, 300, 620, 1260, 2540};

	for (int i = 0; i < 5; i++) {
		ran(&c, at[i], 0);
		cost_charge_look(&c, EV_READ, at[i] < 400 ? 600 : 400);
	}
	ran(&c, 900, 0);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 300 * 600 + 320 * 500 + 280 * 400, 1e-9);
	for (int i = 5; i < 7; i++) {
		ran(&c, at[i], 0);
		cost_charge_look(&c, EV_READ, 400);
	}
	assert_float_equal(cost_charge_ns(&c, EV_READ), 300 * 600 + 320 * 500 + 1920 * 400, 1e-9);
}

/* A second look that confirms the first also applies to the reads before it. */
static void a_price_that_rises_is_followed(void **state)
{
	struct cost_charge c = begun(100);

	for (int i = 1; i <= 3; i++) {
		ran(&c, i * 10, 0);
		cost_charge_look(&c, EV_READ, 400);
	}
	ran(&c, 40, 0);
	cost_charge_look(&c, EV_READ, 600);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 40 * 400, 1e-9);
	ran(&c, 50, 0);
	cost_charge_look(&c, EV_READ, 600);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 30 * 400 + 10 * 500 + 10 * 600, 1e-9);
}

static void a_program_without_a_price_makes_the_sum_unknown(void **state)
{
	struct cost_charge c = begun(50);

	c.price.ns[EV_ADD] = -1;
	ran(&c, 10, 0);
	assert_float_equal(sum_ns(&c), 10 * 50, 1e-9);
	ran(&c, 20, 1);
	assert_true(sum_ns(&c) < 0);
	assert_float_equal(cost_charge_ns(&c, EV_READ), 20 * 50, 1e-9);
	c.price.ns[EV_READ] = -1;
	ran(&c, 30, 1);
	assert_true(cost_charge_ns(&c, EV_READ) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_ran_and_nothing_is_charged),
		cmocka_unit_test(the_calibration_is_the_price_without_a_look),
		cmocka_unit_test(the_first_look_is_the_price_of_what_ran_before_it),
		cmocka_unit_test(the_first_three_looks_are_the_price_of_what_ran_before_the_second),
		cmocka_unit_test(one_look_alone_is_a_disturbance),
		cmocka_unit_test(a_price_that_falls_is_followed),
		cmocka_unit_test(a_price_that_rises_is_followed),
		cmocka_unit_test(a_program_without_a_price_makes_the_sum_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
