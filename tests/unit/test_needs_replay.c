/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Rules that need a readahead replay: if a job fetched nothing, there is nothing to replay, and
 * they do not fire. */
#include "fixtures/advisor/world.h"

static void fetched(struct fixture *f, const char *prefetched)
{
	world_write(f, "replay.sql",
		    RULE_HEAD("replay") "-- needs facts: v_replay.faithful_replay\n" RULE_ROW
					" FROM v_job WHERE 0");
	fixture_zero(f, "job");
	fixture_sql(f, "UPDATE job SET lookups = 50000, prefetched_async = %s", prefetched);
}

static void nothing_fetched(void **state)
{
	struct analysis a;

	fetched(*state, "0");
	a = world_analyse(*state);
	assert_null(world_unjudged(&a, "replay"));
	analysis_free(&a);
}

static void fetched_and_not_replayed(void **state)
{
	static const char *const pages[] = {"1000", "NULL"};

	for (int i = 0; i < 2; i++) {
		struct analysis a;

		fetched(*state, pages[i]);
		a = world_analyse(*state);
		assert_non_null(world_unjudged(&a, "replay"));
		analysis_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_fetched, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(fetched_and_not_replayed, world_begin,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
