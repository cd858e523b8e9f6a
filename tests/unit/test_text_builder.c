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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_parts),
		cmocka_unit_test(empty_text),
		cmocka_unit_test(no_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
