/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cachemon/account/ledger_impl.h"

static void test_parts(void **state)
{
	const uint64_t weights[] = {1, 0, 3};
	uint64_t shares[3];

	share_out(8, weights, 3, shares);
	assert_int_equal(shares[0], 2);
	assert_int_equal(shares[1], 0);
	assert_int_equal(shares[2], 6);
	/* 2.25 and 6.75: the larger remainder is rounded up. */
	share_out(9, weights, 3, shares);
	assert_int_equal(shares[0], 2);
	assert_int_equal(shares[2], 7);
	share_out(0, weights, 3, shares);
	assert_int_equal(shares[2], 0);
}

static void test_nobody(void **state)
{
	const uint64_t weights[] = {0, 0};
	uint64_t shares[2] = {5, 5};

	share_out(8, weights, 2, shares);
	assert_int_equal(shares[0] + shares[1], 0);
	share_out(8, weights, 0, shares);
}

static void test_large(void **state)
{
	const uint64_t weights[] = {UINT64_MAX / 4, UINT64_MAX / 4};
	uint64_t shares[2];

	share_out(UINT64_MAX / 2, weights, 2, shares);
	assert_int_equal(shares[0] + shares[1], UINT64_MAX / 2);
	assert_true(shares[0] - shares[1] <= 1);
}

/* Whatever the weights, all pages are given out, each within one page of its exact share, and
 * none to weight 0. */
static void test_property(void **state)
{
	srand48(7);
	for (int round = 0; round < 2000; round++) {
		uint64_t weights[17], shares[17], sum = 0, all = 0, pages = lrand48() % 10000;
		size_t nr = 1 + (size_t)lrand48() % 17;

		for (size_t i = 0; i < nr; i++)
			sum += weights[i] = lrand48() % 3 ? (uint64_t)lrand48() % 1000 : 0;
		share_out(pages, weights, nr, shares);
		for (size_t i = 0; i < nr; i++) {
			all += shares[i];
			if (!weights[i])
				assert_int_equal(shares[i], 0);
			if (sum)
				assert_true(shares[i] == pages * weights[i] / sum ||
					    shares[i] == pages * weights[i] / sum + 1);
		}
		assert_int_equal(all, sum ? pages : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_property),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
