/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: collector plan account job access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cachemon/collector/node_budget.h"

#define S 1e9

/* Adds a window: CPU time of the jobs, the whole cost and the parts of the detail. Detail that is
 * given up costs nothing. */
static bool window(struct node_budget *b, struct node_cost *sum, double jobs_s, double rest_s,
		   const double detail_s[NODE_DETAILS])
{
	sum->time_ns += 10 * S;
	sum->jobs_cpu_ns += jobs_s * S;
	sum->cost_ns += rest_s * S;
	for (int d = 0; d < NODE_DETAILS; d++) {
		if (b->shed[d])
			continue;
		sum->cost_ns += detail_s[d] * S;
		sum->detail_ns[d] += detail_s[d] * S;
	}
	return node_budget_judge(b, sum);
}

static unsigned int shed_of(const struct node_budget *b)
{
	unsigned int mask = 0;

	for (int d = 0; d < NODE_DETAILS; d++)
		mask |= (unsigned int)b->shed[d] << d;
	return mask;
}

enum {
	VFS = 1 << NODE_DETAIL_VFS,
	PROCESSES = 1 << NODE_DETAIL_PROCESS_ROWS,
	FILES = 1 << NODE_DETAIL_FILE_ROWS,
	INTERVALS = 1 << NODE_DETAIL_INTERVALS,
};

static const double costs[NODE_DETAILS] = {0.03, 0.01, 0.02, 0.04};

static void only_as_much_as_needed(void **state)
{
	static const struct {
		double share;
		unsigned int shed;
	} cases[] = {
		{1, 0},
		{0.0101, 0},
		{0.0099, VFS},
		{0.0069, VFS | PROCESSES},
		{0.0059, VFS | PROCESSES | FILES},
		{0.0039, VFS | PROCESSES | FILES | INTERVALS},
		{0.0001, VFS | PROCESSES | FILES | INTERVALS},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct node_cost sum = {0};
		struct node_budget b;

		/* 0.1 s of 10 s: 1 %. */
		node_budget_begin(&b, cases[i].share);
		assert_true(b.cost < 0);
		assert_true(window(&b, &sum, 10, 0, costs));
		assert_float_equal(b.cost, 0.01, 1e-9);
		assert_int_equal(shed_of(&b), cases[i].shed);
	}
}

/* Nothing is gained by giving up what is not recorded. */
static void what_costs_nothing_stays(void **state)
{
	static const double rows[NODE_DETAILS] = {0, 0, 0.02, 0};
	struct node_cost sum = {0};
	struct node_budget b;

	node_budget_begin(&b, 0.001);
	window(&b, &sum, 10, 1, rows);
	assert_int_equal(shed_of(&b), FILES);
	/* It is over the budget without it, too. */
	window(&b, &sum, 10, 1, rows);
	assert_int_equal(shed_of(&b), FILES);
	assert_float_equal(b.cost, 0.1, 1e-9);
}

static void a_short_time_is_not_judged(void **state)
{
	struct node_cost sum = {0};
	struct node_budget b;

	node_budget_begin(&b, 0.001);
	for (int i = 0; i < 9; i++)
		assert_false(window(&b, &sum, 0.1, 0, costs));
	assert_true(b.cost < 0 && !shed_of(&b));
	assert_true(window(&b, &sum, 0.11, 0, costs));
	assert_float_equal(b.cost, 1 / 1.01, 1e-9);
}

static void detail_returns_when_there_is_room(void **state)
{
	struct node_cost sum = {0};
	struct node_budget b;

	node_budget_begin(&b, 0.0061);
	window(&b, &sum, 10, 0, costs);
	assert_int_equal(shed_of(&b), VFS | PROCESSES);
	/* 0.6 % and the 0.1 of the rows of processes are more than three quarters of the budget. */
	window(&b, &sum, 10, 0, costs);
	assert_int_equal(shed_of(&b), VFS | PROCESSES);
	/* The jobs do ten times as much: 0.06 + 0.01 + 0.03 %. */
	window(&b, &sum, 100, 0, costs);
	assert_int_equal(shed_of(&b), 0);
	window(&b, &sum, 100, 0, costs);
	assert_int_equal(shed_of(&b), 0);
	assert_float_equal(b.cost, 0.001, 1e-9);
}

static void another_budget_holds_at_once(void **state)
{
	struct node_cost sum = {0};
	struct node_budget b;

	node_budget_begin(&b, 1);
	node_budget_change(&b, 0.0001);
	assert_int_equal(shed_of(&b), 0); /* nothing is known yet */
	node_budget_change(&b, 1);
	window(&b, &sum, 10, 0, costs);
	assert_int_equal(shed_of(&b), 0);
	node_budget_change(&b, 0.0001);
	assert_int_equal(shed_of(&b), VFS | PROCESSES | FILES | INTERVALS);
	node_budget_change(&b, 1);
	assert_int_equal(shed_of(&b), 0);
}

/* The settings are read again before the next window ends: it has less to give up than before. */
static void what_was_given_up_counts_no_more(void **state)
{
	struct node_cost sum = {0};
	struct node_budget b;

	node_budget_begin(&b, 0.0099);
	window(&b, &sum, 10, 0, costs);
	assert_int_equal(shed_of(&b), VFS);
	node_budget_change(&b, 0.0099);
	assert_int_equal(shed_of(&b), VFS);
	node_budget_change(&b, 0.0069);
	assert_int_equal(shed_of(&b), VFS | PROCESSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_as_much_as_needed),
		cmocka_unit_test(what_costs_nothing_stays),
		cmocka_unit_test(a_short_time_is_not_judged),
		cmocka_unit_test(detail_returns_when_there_is_room),
		cmocka_unit_test(another_budget_holds_at_once),
		cmocka_unit_test(what_was_given_up_counts_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
