/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: top report account access */
/* Hints and help on small screens: nothing is cut, and everything can be reached. */
#include "fixtures/report/paint.h"

#include <locale.h>

/* A hint that does not fit is left out whole. */
static void hints_are_not_cut(void **state)
{
	struct top_session s = begun(*state);
	char *text;

	two_seconds(*state);
	text = painted(&s, 40, 10, true, true);
	if (!strstr(text, "Tab level  ") || strstr(text, "Ent"))
		fail_msg("%s", text);
	free(text);
	top_session_end(&s);
}

/* The words of the help; up to 40 columns line by line. */
static void help_words(struct top_session *s, int columns, int rows, char *ret, size_t size)
{
	char *text = painted(s, columns, rows, true, true);
	size_t n = 0;

	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n"))
		n += (size_t)snprintf(ret + n, n < size ? size - n : 0, "%s ", word);
	assert_true(n < size);
	free(text);
}

/* On a small screen the whole help can be read by scrolling; nothing is cut. */
static void help_is_read_to_its_end(void **state)
{
	enum { SIZE = 4096, ROWS = 10 };
	struct top_session s = begun(*state);
	struct top_paper paper = {.columns = 40, .rows = ROWS, .utf8 = true, .keys = true};
	struct top_around around;
	char wide[SIZE], narrow[SIZE];

	two_seconds(*state);
	s.view.help = true;
	help_words(&s, 120, 24, wide, SIZE);
	help_words(&s, 40, 24, narrow, SIZE);
	assert_string_equal(wide, narrow);
	assert_non_null(strstr(wide, "not measured"));
	for (int i = 0; i < 100; i++) {
		help_words(&s, 40, ROWS, narrow, SIZE);
		if (strstr(narrow, "not measured"))
			break;
		top_session_around(&s, &paper, &around);
		top_view_key(&s.view, TOP_KEY_DOWN, &around);
		assert_true(s.view.help);
	}
	assert_non_null(strstr(narrow, "not measured"));
	/* Scrolling stops at the end, so that the first step back moves. */
	top_session_around(&s, &paper, &around);
	top_view_key(&s.view, TOP_KEY_DOWN, &around);
	help_words(&s, 40, ROWS, wide, SIZE);
	assert_string_equal(wide, narrow);
	top_view_key(&s.view, TOP_KEY_UP, &around);
	help_words(&s, 40, ROWS, wide, SIZE);
	assert_null(strstr(wide, "not measured"));
	top_view_key(&s.view, 'x', &around);
	assert_false(s.view.help);
	top_session_end(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hints_are_not_cut),
		TEST(help_is_read_to_its_end),
	};

	setenv("TZ", "UTC", 1);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
