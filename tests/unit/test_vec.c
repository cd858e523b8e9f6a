/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/base/vec.h"

static void pushes(void **state)
{
	uint32_t *v = NULL;
	size_t room = 0, grown = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t had = room;

		assert_int_equal(vec_reserve(v, room, (size_t)i + 1), 0);
		assert_true(room > i);
		grown += room != had;
		v[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(v[i], i);
	/* It does not grow at every push, which would take quadratic time. */
	assert_true(grown <= 17);
	free(v);
}

static void many_at_once(void **state)
{
	char *v = NULL;
	size_t room = 0;

	(void)state;
	assert_int_equal(vec_reserve(v, room, 5000), 0);
	assert_true(room >= 5000);
	memset(v, 1, 5000);
	assert_int_equal(vec_reserve(v, room, 1), 0);
	assert_true(room >= 5000);
	free(v);
}

/* The content stays if it cannot grow. */
static void refused(void **state)
{
	static const size_t impossible[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 + 1};
	uint64_t *v = NULL;
	size_t room = 0, had;

	(void)state;
	assert_int_equal(vec_reserve(v, room, 3), 0);
	v[2] = 7;
	had = room;
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		assert_int_equal(vec_reserve(v, room, impossible[i]), -ENOMEM);
		assert_int_equal(room, had);
		assert_int_equal(v[2], 7);
	}
	free(v);
	/* Twice the room overflows. */
	room = SIZE_MAX / 2 + 1;
	assert_null(vec_grown(NULL, &room, 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
