/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: cmd report account access */
/* The live line of a watch: what the measuring costs, and the budget if that is more. */
#include "fixtures/report/verb.h"

#include <stdlib.h>

#include "cachemon/cmd/watch_view.h"

static const struct watch_figures figures = {
	.hit_ratio = 0.985,
	.lookups_per_s = 1234567,
	.misses_per_s = 123456,
	.prefetch_accuracy = 0.912,
	.evictions_per_s = 123456,
	.own_share = 0.009,
	.budget = 0.05,
	.estimated = true,
};

static void expect_line(const char *columns, const struct watch_figures *f, const char *want)
{
	struct watch_place place = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	size_t width = (size_t)atoi(columns);

	assert_non_null(out);
	assert_int_equal(setenv("COLUMNS", columns, 1), 0);
	watch_live_show(out, &place, f);
	assert_int_equal(fclose(out), 0);
	if (!strstr(text, want))
		fail_msg("%s columns: %s", columns, text);
	/* "\r\033[K" precedes the line. */
	assert_true(strcspn(text + 4, "\r") < width);
	free(text);
}

static void within_budget(void **state)
{
	(void)state;
	expect_line("80", &figures, " cost 0.9%");
	expect_line("120", &figures, " cost 0.9 %");
}

/* The reader sees what is over what, also where the last fields have no room. */
static void over_budget(void **state)
{
	struct watch_figures f = figures;

	(void)state;
	f.own_share = 0.149;
	expect_line("80", &f, " cost 14.9% (budget 5%) prefetch");
	expect_line("120", &f, " cost 14.9 % (budget 5 %)  prefetch");
	f.budget = 0.025;
	expect_line("80", &f, " cost 14.9% (budget 2.5%)");
	f.budget = -1;
	expect_line("120", &f, " cost 14.9 %");
}

static void unknown_cost(void **state)
{
	struct watch_figures f = figures;

	(void)state;
	f.own_share = -1;
	expect_line("80", &f, " cost -");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_budget),
		cmocka_unit_test(over_budget),
		cmocka_unit_test(unknown_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
