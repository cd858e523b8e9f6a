/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
/* The records besides counters, by build and by probe, and the reason for each absence. */
#include "plan_invent.h"

#include "cachemon/plan/probe_build.h"

static void plan_of(struct probe_plan *plan, enum watch_level level, enum probe_build build)
{
	const struct probe_table *table = probe_table_own();
	struct plan_request request = {.level = level};
	struct kernel_caps caps;

	invent(table, &caps);
	caps.build = build;
	probe_plan_make(&caps, &request, table, plan);
}

static void test_builds(void **state)
{
	static const bool recorded[BUILD_NR][RECORD_NR] = {
		[BUILD_DIRECT] = {true, true, true},
		[BUILD_PROBE] = {true, false, true},
		[BUILD_BASIC] = {false, false, false},
	};
	static struct probe_plan plan;

	(void)state;
	for (enum probe_build b = 0; b < BUILD_NR; b++) {
		plan_of(&plan, LEVEL_FULL, b);
		for (int r = 0; r < RECORD_NR; r++) {
			const char *why = probe_record_absent(&plan, r);

			assert_int_equal(!why, recorded[b][r]);
			if (why)
				assert_non_null(strstr(why, "the programs for this kernel"));
		}
	}
}

static void test_level_cold(void **state)
{
	static struct probe_plan plan;

	(void)state;
	plan_of(&plan, LEVEL_COLD, BUILD_DIRECT);
	assert_non_null(strstr(probe_record_absent(&plan, RECORD_REFERENCES), "cold"));
	assert_non_null(strstr(probe_record_absent(&plan, RECORD_TRACES), "cold"));
	assert_null(probe_record_absent(&plan, RECORD_EVICTORS));
}

static void test_probes_that_fail(void **state)
{
	static struct probe_plan plan;

	(void)state;
	plan_of(&plan, LEVEL_FULL, BUILD_DIRECT);
	plan.choices[ROLE_READ].state = PROBE_FAILED;
	snprintf(plan.choices[ROLE_READ].reason, sizeof(plan.choices[ROLE_READ].reason),
		 "no room for it");
	assert_string_equal(probe_record_absent(&plan, RECORD_REFERENCES), "no room for it");
	assert_non_null(strstr(probe_record_absent(&plan, RECORD_TRACES), "table of probes"));
	assert_null(probe_record_absent(&plan, RECORD_EVICTORS));

	plan_of(&plan, LEVEL_FULL, BUILD_DIRECT);
	plan.choices[ROLE_WINDOW_ORDER].state = PROBE_ABSENT;
	assert_null(probe_record_absent(&plan, RECORD_REFERENCES));
	assert_non_null(probe_record_absent(&plan, RECORD_TRACES));

	plan_of(&plan, LEVEL_FULL, BUILD_DIRECT);
	plan.choices[ROLE_PAGE_DELETE].state = PROBE_FAILED;
	assert_non_null(probe_record_absent(&plan, RECORD_EVICTORS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builds),
		cmocka_unit_test(test_level_cold),
		cmocka_unit_test(test_probes_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
