/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/render/tree.h"

static char *written(bool yaml, void (*tell)(struct tree *t))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct tree t;

	assert_non_null(out);
	assert_int_equal(yaml ? tree_yaml_begin(&t, out) : tree_json_begin(&t, out), 0);
	tell(&t);
	assert_int_equal(tree_finish(&t), 0);
	fclose(out);
	return text;
}

static void assert_written(bool yaml, void (*tell)(struct tree *t), const char *want)
{
	char *text = written(yaml, tell);

	assert_string_equal(text, want);
	free(text);
}

static void tell_numbers(struct tree *t)
{
	tree_object(t, NULL);
	tree_int(t, "above_double", 9007199254740993);
	tree_uint(t, "u64_max", UINT64_MAX);
	tree_int(t, "i64_min", INT64_MIN);
	tree_double(t, "third", 1.0 / 3);
	tree_double(t, "half", 0.5);
	tree_double(t, "one", 1);
	tree_double(t, "tiny", 1e-5);
	tree_double(t, "nan", __builtin_nan(""));
	tree_bool(t, "yes", true);
	tree_end(t);
}

static void tell_strings(struct tree *t)
{
	tree_object(t, NULL);
	tree_string(t, "none", NULL);
	tree_string(t, "number", "012");
	tree_string(t, "word", "null");
	tree_bytes(t, "quote", "a\"b\\c", 5);
	tree_bytes(t, "control", "\x1b\n\t\x7f", 4);
	tree_bytes(t, "nul", "a\0b", 3);
	tree_bytes(t, "bidi", "\xe2\x80\xae\xf3\xa0\x81\x81", 7);
	tree_bytes(t, "umlaut", "ä", 2);
	tree_bytes(t, "bad", "\xff\\", 2);
	tree_end(t);
}

static void tell_nesting(struct tree *t)
{
	tree_object(t, NULL);
	tree_array(t, "empty");
	tree_end(t);
	tree_array(t, "list");
	tree_int(t, NULL, 1);
	tree_object(t, NULL);
	tree_end(t);
	tree_end(t);
	tree_line(t, "line");
	tree_int(t, NULL, 1);
	tree_null(t, NULL);
	tree_int(t, NULL, -3);
	tree_end(t);
	tree_line(t, "short");
	tree_end(t);
	tree_end(t);
}

static void json(void **state)
{
	assert_written(false, tell_numbers,
		       "{\n  \"above_double\": 9007199254740993,\n"
		       "  \"u64_max\": 18446744073709551615,\n"
		       "  \"i64_min\": -9223372036854775808,\n"
		       "  \"third\": 0.3333333333333333,\n  \"half\": 0.5,\n  \"one\": 1.0,\n"
		       "  \"tiny\": 1.0e-05,\n  \"nan\": null,\n  \"yes\": true\n}\n");
	assert_written(false, tell_strings,
		       "{\n  \"none\": null,\n  \"number\": \"012\",\n  \"word\": \"null\",\n"
		       "  \"quote\": \"a\\\"b\\\\c\",\n"
		       "  \"control\": \"\\u001b\\u000a\\u0009\\u007f\",\n"
		       "  \"nul\": \"a\\u0000b\",\n  \"bidi\": \"\\u202e\\udb40\\udc41\",\n"
		       "  \"umlaut\": \"ä\",\n  \"bad\": \"\\\\xff\\\\x5c\",\n"
		       "  \"bad_escaped\": true\n}\n");
	assert_written(false, tell_nesting,
		       "{\n  \"empty\": [],\n  \"list\": [\n    1,\n    {}\n  ],\n  \"line\": [1, "
		       "null, -3],\n  \"short\": []\n}\n");
}

static void yaml(void **state)
{
	assert_written(true, tell_numbers,
		       "above_double: 9007199254740993\nu64_max: 18446744073709551615\n"
		       "i64_min: -9223372036854775808\nthird: 0.3333333333333333\nhalf: 0.5\n"
		       "one: 1.0\ntiny: 1.0e-05\nnan: null\nyes: true\n");
	assert_written(true, tell_strings,
		       "none: null\nnumber: \"012\"\nword: \"null\"\nquote: \"a\\\"b\\\\c\"\n"
		       "control: \"\\e\\n\\t\\x7F\"\nnul: \"a\\0b\"\n"
		       "bidi: \"\\u202E\\U000E0041\"\numlaut: \"\\xE4\"\n"
		       "bad: \"\\\\xff\\\\x5c\"\nbad_escaped: true\n");
	assert_written(true, tell_nesting,
		       "empty: []\nlist:\n- 1\n- {}\nline: [1, null, -3]\nshort: []\n");
}

static void too_deep_is_an_error(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct tree t;

	assert_int_equal(tree_json_begin(&t, out), 0);
	for (int i = 0; i <= TREE_DEPTH; i++)
		tree_array(&t, NULL);
	assert_true(tree_finish(&t) < 0);
	fclose(out);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json),
		cmocka_unit_test(yaml),
		cmocka_unit_test(too_deep_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
