/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/base/text_builder.h"

static void text_of_parts(void **state)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *text;

	(void)state;
	assert_non_null(out);
	fputs("two", out);
	fprintf(out, " and %d", 2);
	fwrite("\0x", 1, 2, out);
	text = text_end(&b);
	assert_int_equal(b.len, strlen("two and 2") + 2);
	assert_memory_equal(text, "two and 2\0x", b.len + 1);
	free(text);
}

static void empty_text(void **state)
{
	struct text_builder b;
	char *text;

	(void)state;
	assert_non_null(text_begin(&b));
	text = text_end(&b);
	assert_string_equal(text, "");
	assert_int_equal(b.len, 0);
	free(text);
}

/* The state after the stream could not be opened. */
static void no_stream(void **state)
{
	struct text_builder b = {0};

	(void)state;
	assert_null(text_end(&b));
}

static void text_in_an_arena(void **state)
{
	struct arena a = {0};
	struct text_builder b;
	FILE *out = text_begin(&b);
	const char *text;

	(void)state;
	assert_non_null(out);
	fwrite("a\0b", 1, 3, out);
	text = text_end_in(&b, &a);
	assert_memory_equal(text, "a\0b", 4);
	assert_string_equal(arena_print(&a, "%s, %d", "one", 2), "one, 2");
	assert_string_equal(arena_text(&a, "copy"), "copy");
	assert_false(a.failed);
	/* A stream that could not be opened. */
	assert_null(text_end_in(&(struct text_builder){0}, &a));
	assert_true(a.failed);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_parts),
		cmocka_unit_test(empty_text),
		cmocka_unit_test(no_stream),
		cmocka_unit_test(text_in_an_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
