/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/figures/counters.h"

static void names_are_unique_and_grouped(void **state)
{
	for (int c = 0; c < C_NR; c++) {
		assert_non_null(counter_name(c));
		assert_true(counter_group(c) < GROUP_NR);
		assert_non_null(counter_group_name(counter_group(c)));
		for (int d = 0; d < c; d++)
			assert_string_not_equal(counter_name(c), counter_name(d));
	}
}

static void the_law_is_the_difference(void **state)
{
	struct counters c = {};
	int64_t delta[C_NR] = {[C_prefetched_sync] = 3,
			       [C_prefetched_async] = 20,
			       [C_prefetched_willneed] = 5,
			       [C_prefetched_readahead2] = 7,
			       [C_prefetched_mmap_around] = 11,
			       [C_used] = 30,
			       [C_used_late] = 6,
			       [C_evicted_unused] = 4,
			       [C_resident_unused] = 5,
			       [C_untracked] = 1};

	counters_add(&c, delta);
	assert_int_equal(counters_sum(c.c, SUM_OF(TERMS_prefetched_pages)), 46);
	assert_int_equal(counters_law_error(&c), 0);
	delta[C_used] = 31;
	counters_add(&c, delta);
	assert_int_equal(counters_law_error(&c), 1);
}

/* report and store use these names; the kernel side uses the cause as an index. */
static void causes_follow_in_order(void **state)
{
	assert_string_equal(counter_name(C_evicted_reclaim_kswapd + EVICT_RECLAIM_KSWAPD),
			    "evicted_reclaim_kswapd");
	assert_string_equal(counter_name(C_evicted_reclaim_kswapd + EVICT_DIRECT_IO),
			    "evicted_direct_io");
	assert_string_equal(counter_name(C_evicted_reclaim_kswapd + EVICT_OTHER), "evicted_other");
	assert_string_equal(counter_name(C_window_log2_0 + 15), "window_log2_15");
}

/* Each bucket begins where the one before it ends, at a power of two. */
static void waits_double(void **state)
{
	assert_int_equal(counter_wait_ns(0), 0);
	assert_int_equal(counter_wait_ns(1), 2048);
	assert_int_equal(counter_wait_ns(10), 1048576);
	assert_int_equal(counter_wait_ns(WAIT_BUCKETS - 1), 8589934592);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_unique_and_grouped),
		cmocka_unit_test(the_law_is_the_difference),
		cmocka_unit_test(causes_follow_in_order),
		cmocka_unit_test(waits_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
