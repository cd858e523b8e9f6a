/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
/* Features of references, compared with values by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advisor/pattern/reuse.h"

/* By hand: 3 pages, twice, the second time backward; then accesses without epochs. */
static void epochs_by_hand(void **state)
{
	static const uint32_t pages[] = {0, 0, 1, 2, 2, 2, 1, 0};
	static const uint32_t forth[] = {0, 1, 2, 0, 1, 2};
	static const int64_t lookups[] = {0, 10, 20, 30, 40, 50};
	struct reuse_input in = {.page = pages, .nr = 8, .nr_pages = 3, .rate = 1};
	struct features f = {0};

	(void)state;
	assert_int_equal(reuse_features(&in, &f), 0);
	/* 0 1 2 1 0: the two reads of page 2 are adjacent. */
	assert_true(fabs(f.value[F_reuse] - 5.0 / 3) < 1e-12);
	assert_true(fabs(f.value[F_order_similarity] + 1) < 1e-12);
	f = (struct features){0};
	in = (struct reuse_input){
		.page = forth, .lookup = lookups, .nr = 6, .nr_pages = 3, .rate = 1};
	assert_int_equal(reuse_features(&in, &f), 0);
	assert_true(f.value[F_epochs] == 2);
	assert_true(f.value[F_epoch_separation] == 1);
	assert_true(f.value[F_order_similarity] == 1);
	assert_true(f.value[F_period_lookups] == 30);
	assert_false(f.known[F_period_s]);
	assert_false(f.known[F_coverage]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epochs_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
