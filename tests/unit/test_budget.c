/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cachemon/collector/cost.h"

#define MS 1e6

static void excess_is_all_cost_less_the_budget(void **state)
{
	struct cost_seen s = {1000 * MS, 6 * MS, 5 * MS, 1};

	assert_float_equal(cost_excess_ns(&s, 0.01), 1 * MS, 1);
	s.read_ns = 3 * MS;
	assert_float_equal(cost_excess_ns(&s, 0.01), -1 * MS, 1);
	/* An unknown cost exceeds no budget. */
	s.own_ns = -1;
	assert_float_equal(cost_excess_ns(&s, 0.01), 0, 1);
}

static void slices_help_only_where_reads_cost(void **state)
{
	static const struct {
		struct cost_seen seen;
		bool helps;
	} cases[] = {
		/* Within the budget. */
		{{1000 * MS, 4 * MS, 5 * MS, 1}, false},
		/* Without the hook the run would be within its budget. */
		{{1000 * MS, 4 * MS, 50 * MS, 1}, true},
		/* A loader of small files: pages, windows and names are expensive, reads are
		 * cheap. */
		{{1000 * MS, 30 * MS, 4 * MS, 1}, false},
		/* Slicing removes half of the excess, and a little less than half. */
		{{1000 * MS, 30 * MS, 20 * MS, 1}, true},
		{{1000 * MS, 30 * MS, 19 * MS, 1}, false},
		/* Measured during a tenth of the time: with the hook always on it would cost 40
		 * ms. */
		{{1000 * MS, 4 * MS, 4 * MS, 0.1}, true},
		/* Nothing was measured, or the cost is not known. */
		{{1000 * MS, 30 * MS, 0, 0}, false},
		{{1000 * MS, 30 * MS, -1, 1}, false},
		{{1000 * MS, -1, 50 * MS, 1}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cost_slicing_helps(&cases[i].seen, 0.01), cases[i].helps);
}

/* Repeats the same window; true once reads are to be sliced. */
static int windows_until_sliced(double own_share, double read_share, int max)
{
	struct cost_seen now = {.read_on_share = 1};
	struct budget b;

	budget_begin(&b, 0.01);
	for (int i = 1; i <= max; i++) {
		now.job_cpu_ns += BUDGET_WINDOW_NS;
		now.own_ns += BUDGET_WINDOW_NS * own_share;
		now.read_ns += BUDGET_WINDOW_NS * read_share;
		if (budget_slices(&b, &now))
			return i;
	}
	return 0;
}

static void a_job_whose_reads_are_cheap_is_never_sliced(void **state)
{
	assert_int_equal(windows_until_sliced(0.03, 0.004, 1000), 0);
	assert_int_equal(windows_until_sliced(0.2, 0.01, 1000), 0);
	assert_int_equal(windows_until_sliced(0.002, 0.005, 1000), 0);
}

static void hot_reads_are_sliced_after_the_beginning(void **state)
{
	assert_int_equal(windows_until_sliced(0.005, 0.07, 1000), BUDGET_SETTLE + 1);
}

static void a_phase_that_is_over_is_no_reason(void **state)
{
	struct cost_seen now = {.read_on_share = 1};
	struct budget b;

	budget_begin(&b, 0.01);
	for (int i = 0; i < 100; i++) {
		bool hot = i < BUDGET_SETTLE;

		now.job_cpu_ns += BUDGET_WINDOW_NS;
		now.own_ns += BUDGET_WINDOW_NS * 0.002;
		now.read_ns += BUDGET_WINDOW_NS * (hot ? 0.07 : 0.001);
		assert_false(budget_slices(&b, &now));
	}
}

static void too_short_a_time_is_not_judged(void **state)
{
	struct cost_seen now = {.read_on_share = 1};
	struct budget b;

	budget_begin(&b, 0.01);
	for (int i = 0; i < 10; i++) {
		now.job_cpu_ns += BUDGET_WINDOW_NS / 40;
		now.read_ns += BUDGET_WINDOW_NS / 400;
		assert_false(budget_slices(&b, &now));
	}
}

static void detail_has_a_purse_and_a_part_of_the_budget(void **state)
{
	struct cost_seen now = {0};
	struct budget b;

	budget_begin(&b, 0.01);
	assert_float_equal(budget_detail_ns(&b, &now), BUDGET_PURSE_NS, 1);
	now.job_cpu_ns = 1000 * MS;
	assert_float_equal(budget_detail_ns(&b, &now),
			   BUDGET_PURSE_NS + 10 * MS * BUDGET_DETAIL_SHARE, 1);
	/* The same time is credited once. */
	assert_float_equal(budget_detail_ns(&b, &now),
			   BUDGET_PURSE_NS + 10 * MS * BUDGET_DETAIL_SHARE, 1);
	/* Above the budget nothing is credited, not even later for that time. */
	now.job_cpu_ns = 2000 * MS;
	now.own_ns = 21 * MS;
	assert_float_equal(budget_detail_ns(&b, &now),
			   BUDGET_PURSE_NS + 10 * MS * BUDGET_DETAIL_SHARE, 1);
	now.job_cpu_ns = 3000 * MS;
	assert_float_equal(budget_detail_ns(&b, &now),
			   BUDGET_PURSE_NS + 20 * MS * BUDGET_DETAIL_SHARE, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(excess_is_all_cost_less_the_budget),
		cmocka_unit_test(slices_help_only_where_reads_cost),
		cmocka_unit_test(a_job_whose_reads_are_cheap_is_never_sliced),
		cmocka_unit_test(hot_reads_are_sliced_after_the_beginning),
		cmocka_unit_test(a_phase_that_is_over_is_no_reason),
		cmocka_unit_test(too_short_a_time_is_not_judged),
		cmocka_unit_test(detail_has_a_purse_and_a_part_of_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
