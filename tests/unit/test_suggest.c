/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: access */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cachemon/base/suggest.h"

static const char *const verbs[] = {"watch", "report", "runs", "doctor", "selftest"};

static void nearest(void **state)
{
	static const struct {
		const char *word;
		const char *want;
	} rows[] = {
		{"wacth", "watch"},   /* swap */
		{"wach", "watch"},    /* missing */
		{"wattch", "watch"},  /* too many */
		{"wotch", "watch"},   /* wrong */
		{"reprot", "report"}, /* swap */
		{"erport", "report"}, /* swap at the start */
		{"rns", "runs"},
		{"run", "runs"},
		{"dcotro", "doctor"},  /* two edits */
		{"dcotor-", "doctor"}, /* a swap and an insertion */
		{"self", "selftest"},  /* the only one with that prefix */
		{"rep", "report"},
		{"r", NULL}, /* begins two */
		{"", NULL},
		{"xx", NULL},
		{"daemonize", NULL},
		{"tor", NULL}, /* three edits */
		{"--help", NULL},
		{"watchwatchwatch", NULL},
	};
	char endless[4096];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = suggest_nearest(rows[i].word, verbs, 5);

		if (!got != !rows[i].want || (got && strcmp(got, rows[i].want) != 0))
			fail_msg("'%s': %s", rows[i].word, got ? got : "nothing");
	}
	memset(endless, 'w', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	assert_null(suggest_nearest(endless, verbs, 5));
	assert_null(suggest_nearest("watch", verbs, 0));
}

static void nearer_first(void **state)
{
	static const char *const words[] = {"abcx", "abc", "abd"};

	assert_string_equal(suggest_nearest("abce", words, 3), "abcx");
	assert_string_equal(suggest_nearest("abc", words, 3), "abc");
	assert_string_equal(suggest_nearest("abe", words, 3), "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest),
		cmocka_unit_test(nearer_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
