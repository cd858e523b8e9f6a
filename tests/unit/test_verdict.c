/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Verdicts on advice: each verdict, the limits between them, and unknown values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/analysis/verdict.h"

enum { X = -1 }; /* not measured */

struct row {
	const char *kind;
	int64_t asked, brought, dropped, redundant, used, used_late, evicted_unused, refaults;
	int64_t untracked;
	enum verdict want;
	const char *why;
};

static struct opt_i64 opt(int64_t v)
{
	return (struct opt_i64){v == X ? 0 : v, v != X};
}

static const struct row rows[] = {
	/* kind, asked, brought, dropped, redundant, used, late, evicted unused, read again,
	   untracked */
	{"willneed", 100, 100, 0, 0, 100, 0, 0, 0, 0, VERDICT_HELPED, "100 of the 100 pages"},
	{"willneed", 100, 100, 0, 0, 40, 10, 0, 0, 0, VERDICT_HELPED, "50 of the 100 pages"},
	{"willneed", 100, 100, 0, 0, 49, 0, 0, 0, 0, VERDICT_NO_EFFECT, "only 49 of the 100"},
	{"willneed", 100, 100, 0, 0, 0, 0, 50, 0, 0, VERDICT_HARMFUL,
	 "50 of the 100 fetched pages"},
	{"willneed", 100, 100, 0, 0, 51, 0, 49, 0, 0, VERDICT_HELPED, "51 of the 100"},
	{"willneed", 100, 0, 0, 90, 0, 0, 0, 0, 0, VERDICT_REDUNDANT,
	 "90 of the 100 requested pages"},
	{"willneed", 100, 11, 0, 89, 11, 0, 0, 0, 0, VERDICT_HELPED, "11 of the 11"},
	{"willneed", 1000, 320, 0, 0, 320, 0, 0, 0, 0, VERDICT_CUT_SHORT, "320 of the 1,000"},
	{"willneed", 1000, 500, 0, 0, 500, 0, 0, 0, 0, VERDICT_HELPED, "500"},
	/* Pages that were already cached do not make a call "cut short". */
	{"willneed", 1000, 320, 0, 500, 320, 0, 0, 0, 0, VERDICT_HELPED, "320"},
	{"readahead", 100, 100, 0, 0, 50, 50, 0, 0, 0, VERDICT_TOO_LATE, "50 of the 100 pages"},
	{"readahead", 100, 100, 0, 0, 51, 49, 0, 0, 0, VERDICT_HELPED, "100"},
	{"willneed", 100, 0, 0, 0, 0, 0, 0, 0, 0, VERDICT_NO_EFFECT, "no page was fetched"},
	/* Pages that were not followed: a verdict only if they cannot change it. */
	{"readahead", X, 12288, 0, X, 2048, 0, 0, 0, 10240, VERDICT_NONE, "10,240 of the 12,288"},
	{"willneed", X, 8192, 0, X, 0, 0, 0, 0, 8192, VERDICT_NONE, "8,192 of the 8,192"},
	{"willneed", 100, 100, 0, 0, 10, 10, 0, 0, 80, VERDICT_NONE, "80 of the 100"},
	{"willneed", 100, 100, 0, 0, 0, 0, 50, 0, 50, VERDICT_HARMFUL, "50 of the 100"},
	{"willneed", 1000, 320, 0, 0, 0, 0, 0, 0, 320, VERDICT_CUT_SHORT, "320 of the 1,000"},
	{"willneed", 1000, 320, 0, 0, X, X, X, 0, 0, VERDICT_CUT_SHORT, "320 of the 1,000"},
	{"willneed", 100, 100, 0, 0, 60, 0, 15, 0, 25, VERDICT_HELPED, "60 of the 100"},
	{"willneed", 100, 100, 0, 0, 45, 0, 0, 0, 15, VERDICT_NONE, "45 to 60 of the 100"},
	{"willneed", 100, 100, 0, 0, 30, 0, 0, 0, 10, VERDICT_NO_EFFECT, "only 30 of the 100"},
	{"dontneed", 100, 0, 100, 0, 0, 0, 0, 0, 0, VERDICT_HELPED, "freed 100 pages, of which 0"},
	{"dontneed", 100, 0, 100, X, X, X, X, 30, 0, VERDICT_HARMFUL, "30 of the 100"},
	{"dontneed", 100, 0, 100, X, X, X, X, 29, 0, VERDICT_HELPED, "29"},
	{"dontneed", 100, 0, 29, X, X, X, X, 0, 0, VERDICT_NO_EFFECT, "29 of the 100 cached"},
	{"dontneed", 100, 0, 30, X, X, X, X, 0, 0, VERDICT_HELPED, "30"},
	{"dontneed", 100, 0, 0, X, X, X, X, X, 0, VERDICT_NO_EFFECT, "no page was dropped"},
	/* Whether the other pages were cached is not known. */
	{"dontneed", X, 0, 9, X, X, X, X, 0, 0, VERDICT_HELPED, "9"},
	/* Not known */
	{"dontneed", 100, 0, X, 0, 0, 0, 0, 0, 0, VERDICT_NONE, "dropped pages were not measured"},
	{"dontneed", 100, 0, 100, 0, 0, 0, 0, X, 0, VERDICT_NONE, "read again was not measured"},
	{"willneed", 100, X, 0, 0, 0, 0, 0, 0, 0, VERDICT_NONE, "fetched pages were not measured"},
	{"willneed", 100, 50, 0, 0, X, 0, 0, 0, 0, VERDICT_NONE, "fate of the fetched pages"},
	{"willneed", 100, 50, 0, 0, 50, X, 0, 0, 0, VERDICT_NONE, "fate of the fetched pages"},
	{"willneed", 100, 50, 0, 0, 50, 0, X, 0, 0, VERDICT_NONE, "fate of the fetched pages"},
	{"willneed", 100, 0, 0, X, 0, 0, 0, 0, 0, VERDICT_NONE, "requested pages were cached"},
	{"sequential", 100, 0, 0, 0, 0, 0, 0, 0, 0, VERDICT_NONE, "affects later reads"},
	{"random", X, X, X, X, X, X, X, X, 0, VERDICT_NONE, "affects later reads"},
	{"noreuse", X, X, X, X, X, X, X, X, 0, VERDICT_NONE, "affects later reads"},
};

static void test_table(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct verdict_input in = {
			.kind = verdict_kind_of(r->kind),
			.asked = opt(r->asked),
			.cached = opt(r->asked), /* of a drop */
			.brought = opt(r->brought),
			.dropped = opt(r->dropped),
			.redundant = opt(r->redundant),
			.used = opt(r->used),
			.used_late = opt(r->used_late),
			.evicted_unused = opt(r->evicted_unused),
			.dropped_refaults = opt(r->refaults),
			.untracked = r->untracked,
		};
		char why[VERDICT_WHY_MAX] = "";
		enum verdict got = verdict_of(&in, why);

		if (got != r->want || !strstr(why, r->why))
			fail_msg("row %zu: %d instead of %d: '%s', not '%s'", i, got, r->want, why,
				 r->why);
	}
}

/* The verdicts of the external contract. */
static void test_names(void **state)
{
	assert_null(verdict_name(VERDICT_NONE));
	assert_string_equal(verdict_name(VERDICT_HELPED), "helped");
	assert_string_equal(verdict_name(VERDICT_NO_EFFECT), "no effect");
	assert_string_equal(verdict_name(VERDICT_HARMFUL), "harmful");
	assert_string_equal(verdict_name(VERDICT_CUT_SHORT), "cut short");
	assert_string_equal(verdict_name(VERDICT_REDUNDANT), "redundant");
	assert_string_equal(verdict_name(VERDICT_TOO_LATE), "too late");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
