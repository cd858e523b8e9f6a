/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/base/escape.h"

static char *run_inert(const char *s, size_t len)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	escape_inert(out, s, len);
	fclose(out);
	return text;
}

static void inert_makes_visible(void **state)
{
	static const struct {
		const char *in, *want;
	} table[] = {
		{"", ""},
		{"/plain path/ä文.bin", "/plain path/ä文.bin"},
		{"/a\\b", "/a\\b"},
		{"/a\\b\n", "/a\\x5cb\\x0a"},
		{"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
		{"a\x7f\xc2\x9b"
		 "1m",
		 "a\\x7f\\u009b1m"},
		{"\xe2\x80\xae"
		 "cod.exe",
		 "\\u202ecod.exe"},
		{"\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},
		{"a\xd8\x9c"
		 "b\xe2\x80\x8b"
		 "c\xef\xbb\xbf",
		 "a\\u061cb\\u200bc\\ufeff"},
		{"\xf3\xa0\x81\x81", "\\U000e0041"},
		{"\xff\xfe/x", "\\xff\\xfe/x"},
		{"\xc0\xaf", "\\xc0\\xaf"},	     /* overlong */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"cut \xe6\x96", "cut \\xe6\\x96"},
		{"\xef\xbf\xbf", "\\uffff"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *once = run_inert(table[i].in, strlen(table[i].in));
		char *twice = run_inert(once, strlen(once));

		assert_string_equal(once, table[i].want);
		assert_string_equal(twice, once);
		free(once);
		free(twice);
	}
}

static void inert_shows_nul(void **state)
{
	char *text = run_inert("a\0b", 3);

	assert_string_equal(text, "a\\x00b");
	free(text);
}

static void data_keeps_utf8(void **state)
{
	static const struct {
		const char *in, *want;
		bool escaped;
	} table[] = {
		{"/a\\b\x1b", "/a\\b\x1b", false},
		{"/ä\xff\\", "/ä\\xff\\x5c", true},
		{"\x80", "\\x80", true},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(escape_data(out, table[i].in, strlen(table[i].in)),
				 table[i].escaped);
		fclose(out);
		assert_string_equal(text, table[i].want);
		free(text);
	}
}

static void buffer_is_cut(void **state)
{
	char buf[8];

	escape_inert_to(buf, sizeof(buf),
			"abc\x1b"
			"def");
	assert_string_equal(buf, "abc\\x1b");
	escape_inert_to(buf, sizeof(buf), "0123456789");
	assert_string_equal(buf, "0123456");
	escape_inert_to(buf, sizeof(buf), "");
	assert_string_equal(buf, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inert_makes_visible),
		cmocka_unit_test(inert_shows_nul),
		cmocka_unit_test(data_keeps_utf8),
		cmocka_unit_test(buffer_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
