/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cachemon/collector/cost.h"

static struct calibration unknown(void)
{
	struct calibration c;

	for (int ev = 0; ev < EV_NR; ev++)
		c.ns[ev] = -1;
	return c;
}

static void probe_ns_sums_runs(void **state)
{
	struct calibration c = unknown();
	uint64_t runs[EV_NR] = {[EV_READ] = 1000, [EV_ADD] = 10};

	c.ns[EV_READ] = 50;
	c.ns[EV_ADD] = 300;
	assert_float_equal(cost_probe_ns(&c, runs), 53000, 1e-9);
}

static void an_event_without_a_time_makes_the_sum_unknown(void **state)
{
	struct calibration c = unknown();
	uint64_t runs[EV_NR] = {[EV_READ] = 1, [EV_DELETE] = 2};

	c.ns[EV_READ] = 50;
	c.ns[EV_ADD] = 300;
	assert_true(cost_probe_ns(&c, runs) < 0);
	/* An event that never occurred needs no price. */
	runs[EV_DELETE] = 0;
	assert_float_equal(cost_probe_ns(&c, runs), 50, 1e-9);
}

static void nothing_known_is_unknown(void **state)
{
	struct calibration c = unknown();
	uint64_t runs[EV_NR] = {[EV_READ] = 5}, none[EV_NR] = {};

	assert_true(cost_probe_ns(&c, runs) < 0);
	assert_float_equal(cost_probe_ns(&c, none), 0, 1e-9);
}

static void duty_keeps_the_budget(void **state)
{
	static const struct {
		struct cost_seen seen;
		double budget, duty;
	} cases[] = {
		/* 1 s of job, 0.2 % own, reads 0.5 %: within 1 %. */
		{{1e9, 2e6, 5e6, 1}, 0.01, 1},
		/* Reads cost 10 % with the hook on; 0.8 % is left for them. */
		{{1e9, 2e6, 100e6, 1}, 0.01, 0.08},
		/* The same, measured during a tenth of the time. */
		{{1e9, 2e6, 10e6, 0.1}, 0.01, 0.08},
		/* The rest alone exceeds the budget: the minimal duty remains. */
		{{1e9, 20e6, 100e6, 1}, 0.01, COST_DUTY_MIN},
		/* Nothing measured: no slicing. */
		{{0, 0, 0, 0}, 0.01, 1},
		{{1e9, 0, 0, 1}, 0.01, 1},
		/* An unknown cost is no reason to slice. */
		{{1e9, 2e6, -1, 1}, 0.01, 1},
		{{1e9, -1, 100e6, 1}, 0.01, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_float_equal(cost_duty(&cases[i].seen, cases[i].budget), cases[i].duty, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_ns_sums_runs),
		cmocka_unit_test(an_event_without_a_time_makes_the_sum_unknown),
		cmocka_unit_test(nothing_known_is_unknown),
		cmocka_unit_test(duty_keeps_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
