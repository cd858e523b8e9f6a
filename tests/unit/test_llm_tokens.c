/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: llm */
/* The number of tokens of a text: short texts with the counts of real encoders (the larger of
 * cl100k and o200k; tests/system/llm_tokens.py has long texts), sums, and arbitrary bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/llm/tokens.h"

static void test_beside_encoders(void **state)
{
	static const struct {
		const char *text;
		size_t real, most;
	} table[] = {
		{"", 0, 0},
		{"a", 1, 1},
		{"ok", 1, 1},
		{"a b c d e f g", 7, 7},
		{"I/O", 2, 3},
		{"The page cache holds a third of it.", 9, 12},
		{"{\"about\": \"F1\", \"evidence\": [\"E1\"]}", 16, 22},
		{"123456789", 3, 9},
		{"/proc/sys/vm/dirty_ratio", 8, 12},
		{"dGhlIHBhZ2UgY2FjaGU=", 16, 20},
		{"\xe9\xa1\xb5\xe9\x9d\xa2", 1, 6},
		{"0f9a3c7e", 8, 8},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t got = tokens_of(table[i].text);

		if (got < table[i].real || got > table[i].most)
			fail_msg("'%s': %zu, not %zu to %zu", table[i].text, got, table[i].real,
				 table[i].most);
	}
}

/* Budgets add up the parts: so the tokens of lines must add up. */
static void test_lines_add_up(void **state)
{
	static const char *const lines[] = {"E1 lookups = 1234 pages (job)\n", "## What to do\n",
					    "- one\n", "<dir-1>/<file-3>.tar\n"};
	char all[512] = "";
	size_t sum = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		sum += tokens_of(lines[i]);
		strcat(all, lines[i]);
	}
	assert_int_equal(tokens_of(all), sum);
}

/* Never more than bytes, and a longer text never has fewer. */
static void test_any_bytes(void **state)
{
	char text[4096 + 1];
	uint64_t seed = 7;
	size_t before = 0;

	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		text[i] = (char)(seed >> 56 ? seed >> 56 : 1);
	}
	for (size_t len = 0; len < sizeof(text); len++) {
		char after = text[len];
		size_t got;

		text[len] = '\0';
		got = tokens_of(text);
		text[len] = after;

		assert_true(got <= len);
		assert_true(got + 1 >= before);
		before = got;
	}
	assert_true(before > sizeof(text) / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_encoders),
		cmocka_unit_test(test_lines_add_up),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
