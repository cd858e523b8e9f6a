/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachemon/base/hash.h"

enum { ROWS = 3000 };

static size_t count_rows(const struct hash_index *x, uint64_t hash, size_t row)
{
	size_t nr = 0;

	for (size_t at = 0, found; hash_index_next(x, hash, &at, &found);)
		nr += found == row;
	return nr;
}

static void rows_are_found_after_it_grew(void **state)
{
	struct hash_index x = {0};

	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(hash_index_reserve(&x, i + 1), 0);
		hash_index_put(&x, hash_mix(i), i);
	}
	assert_true(x.mask + 1 >= 2 * ROWS && x.mask + 1 < 8 * ROWS);
	for (size_t i = 0; i < ROWS; i++)
		assert_int_equal(count_rows(&x, hash_mix(i), i), 1);
	assert_int_equal(count_rows(&x, hash_mix(ROWS), ROWS), 0);
	hash_index_free(&x);
}

/* Rows are found even if hashes share a slot, or all stored bits of the hash. */
static void rows_of_one_slot_are_all_found(void **state)
{
	struct hash_index x = {0};

	assert_int_equal(hash_index_reserve(&x, 8), 0);
	for (size_t i = 0; i < 8; i++)
		hash_index_put(&x, i < 4 ? 5 : (uint64_t)i << 40 | 5, i);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(count_rows(&x, i < 4 ? 5 : (uint64_t)i << 40 | 5, i), 1);
	/* The search ends at an empty slot after the last one. */
	hash_index_clear(&x);
	hash_index_put(&x, x.mask, 1);
	hash_index_put(&x, x.mask, 2);
	assert_int_equal(count_rows(&x, x.mask, 2), 1);
	assert_int_equal(count_rows(&x, 0, 2), 0);
	hash_index_free(&x);
}

static void bytes_of_any_length_differ(void **state)
{
	static const char text[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(text); i++)
		for (size_t k = i + 1; k < sizeof(text); k++)
			assert_true(hash_bytes(1, text, i) != hash_bytes(1, text, k));
	assert_true(hash_bytes(1, text, 9) != hash_bytes(2, text, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_after_it_grew),
		cmocka_unit_test(rows_of_one_slot_are_all_found),
		cmocka_unit_test(bytes_of_any_length_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
