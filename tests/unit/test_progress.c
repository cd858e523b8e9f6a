/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
/* When a progress line is shown, and its text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cachemon/base/progress.h"

#define S_NS 1000000000ULL

static void assert_line(const struct progress *p, uint64_t now_ns, size_t columns, const char *want)
{
	char line[128];

	progress_line(p, now_ns, columns, line, sizeof(line));
	assert_string_equal(line, want);
}

/* First a sign of life; then nothing moves if the work ends soon. */
static void still_for_two_seconds(void **state)
{
	struct progress p;

	progress_begin(&p, 7 * S_NS);
	assert_int_equal(progress_due_ns(&p), 7 * S_NS + 80000000);
	progress_note(&p, 7 * S_NS, "rules", 3, 30);
	assert_int_equal(progress_due_ns(&p), 7 * S_NS + 80000000);
	assert_line(&p, 7 * S_NS + 80000000, 80, "rules ...");
	assert_line(&p, 7 * S_NS + 80000000, 6, "rules");
	p.shown_ns = 7 * S_NS + 80000000;
	assert_int_equal(progress_due_ns(&p), 9 * S_NS);
	p.shown_ns = 9 * S_NS;
	assert_int_equal(progress_due_ns(&p), 9 * S_NS + 250000000);
}

static void four_times_a_second(void **state)
{
	struct progress p;

	progress_begin(&p, 0);
	p.shown_ns = 2 * S_NS;
	assert_int_equal(progress_due_ns(&p), 2 * S_NS + 250000000);
	/* Notes in between do not change the time. */
	for (int i = 0; i < 1000; i++)
		progress_note(&p, 2 * S_NS + (uint64_t)i, "rules", (uint64_t)i, 1000);
	assert_int_equal(progress_due_ns(&p), 2 * S_NS + 250000000);
}

static void left_only_when_known(void **state)
{
	struct progress p;

	progress_begin(&p, 0);
	assert_int_equal(progress_left_ns(&p, 5 * S_NS), -1);
	progress_note(&p, 0, "reading", 0, 0);
	assert_int_equal(progress_left_ns(&p, 5 * S_NS), -1);
	/* Nothing done: no pace. */
	progress_note(&p, 5 * S_NS, "rules", 0, 10);
	assert_int_equal(progress_left_ns(&p, 9 * S_NS), -1);
	/* A quarter took 4 s since the beginning of this part: the other three take 12 s. */
	progress_note(&p, 9 * S_NS, "rules", 10, 40);
	assert_int_equal(progress_left_ns(&p, 9 * S_NS), 12 * S_NS);
	progress_note(&p, 9 * S_NS, "rules", 40, 40);
	assert_int_equal(progress_left_ns(&p, 9 * S_NS), 0);
	/* Too short a time to estimate the pace. */
	progress_note(&p, 9 * S_NS, "files", 1, 40);
	assert_int_equal(progress_left_ns(&p, 9 * S_NS + 400000000), -1);
	/* More than the total: the total was wrong. */
	progress_note(&p, 9 * S_NS, "files", 41, 40);
	assert_int_equal(progress_left_ns(&p, 20 * S_NS), -1);
}

static void lines(void **state)
{
	struct progress p;

	progress_begin(&p, 0);
	assert_line(&p, 2 * S_NS, 80, "working, 2 s so far");
	progress_note(&p, 2 * S_NS, "reading the database", 0, 0);
	assert_line(&p, 3 * S_NS + 900000000, 80, "reading the database, 3 s so far");
	progress_note(&p, 4 * S_NS, "rules", 0, 30);
	assert_line(&p, 4 * S_NS, 80, "rules: 0 of 30, 4 s so far");
	progress_note(&p, 6 * S_NS, "rules", 10, 30);
	assert_line(&p, 6 * S_NS, 80, "rules: 10 of 30, 6 s so far, about 5 s left");
	progress_note(&p, 4 * S_NS + 300 * S_NS, "rules", 10, 30);
	assert_line(&p, 304 * S_NS, 80, "rules: 10 of 30, 304 s so far, about 10 min left");
	progress_note(&p, 4 * S_NS, "rules", 1, 1000);
	assert_line(&p, 40 * S_NS, 80, "rules: 1 of 1000, 40 s so far, about 10 h left");
}

/* Always narrower than the terminal, so that it stays one line. */
static void narrow(void **state)
{
	struct progress p;
	char line[128];

	progress_begin(&p, 0);
	progress_note(&p, 0, "reading the database", 1, 2);
	for (size_t columns = 0; columns < 90; columns++) {
		progress_line(&p, 3 * S_NS, columns, line, sizeof(line));
		assert_true(columns ? strlen(line) < columns : !*line);
	}
	assert_line(&p, 3 * S_NS, 12, "reading the");
}

static void heard(void *arg, const char *what, uint64_t done, uint64_t total)
{
	snprintf(arg, 64, "%s %u %u", what ? what : "over", (unsigned int)done,
		 (unsigned int)total);
}

static void nobody_listens(void **state)
{
	char text[64] = "";
	const struct progress_sink sink = {heard, text};

	progress_at(NULL, "rules", 1, 2);
	progress_over(NULL);
	progress_at(&sink, "rules", 1, 2);
	assert_string_equal(text, "rules 1 2");
	progress_over(&sink);
	assert_string_equal(text, "over 0 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(still_for_two_seconds),
		cmocka_unit_test(four_times_a_second),
		cmocka_unit_test(left_only_when_known),
		cmocka_unit_test(lines),
		cmocka_unit_test(narrow),
		cmocka_unit_test(nobody_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
