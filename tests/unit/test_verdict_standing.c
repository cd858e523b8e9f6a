/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Verdicts on advice that sets a mode: each verdict, the limits between them, and unknown
 * values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/analysis/verdict.h"

static struct opt_i64 n(int64_t v)
{
	return (struct opt_i64){v, true};
}

static struct opt_f64 f(double v)
{
	return (struct opt_f64){v, true};
}

/* 1,000 random reads, each without readahead. */
static struct verdict_standing random_reads(void)
{
	return (struct verdict_standing){
		.kind = "random",
		.has_file = true,
		.pattern = "random",
		.confidence = f(0.9),
		.demand = n(1000),
		.prefetched = n(0),
		.around = n(0),
		.advised = n(0),
		.windows_read_ahead = n(0),
		.windows_forced = n(1000),
		.faults_major = n(0),
	};
}

/* Windows of 64 pages where 32 are the default, and all pages were used. */
static struct verdict_standing larger_windows(void)
{
	return (struct verdict_standing){
		.kind = "sequential",
		.has_file = true,
		.pattern = "sequential",
		.confidence = f(0.9),
		.demand = n(10),
		.prefetched = n(990),
		.advised = n(0),
		.window_pages_max = n(127),
		.read_ahead_pages = n(32),
		.pages_per_call = f(4),
		.used = n(990),
		.used_late = n(0),
		.evicted_unused = n(0),
	};
}

static void expect(const struct verdict_standing *in, enum verdict want, const char *words)
{
	char why[VERDICT_WHY_MAX] = "";
	enum verdict got = verdict_of_standing(in, why);

	if (got != want || !strstr(why, words))
		fail_msg("%d instead of %d: '%s', not '%s'", got, want, why, words);
}

static void of_random(void **state)
{
	struct verdict_standing in = random_reads();

	expect(&in, VERDICT_HELPED, "1,000 reads fetched only their pages without readahead");
	in.pattern = "scan_once";
	expect(&in, VERDICT_HARMFUL, "read in order (scan_once)");
	in.pattern = "reread";
	expect(&in, VERDICT_NONE, "does not tell");
	in = random_reads();
	/* The pattern is from counters alone, which call it random because of the advice. */
	in.confidence = f(0.5);
	expect(&in, VERDICT_NONE, "does not tell");
	in.pattern = NULL;
	expect(&in, VERDICT_NONE, "(unknown)");
	/* The limits: half, a tenth of the windows. */
	in = random_reads();
	in.windows_read_ahead = n(1000);
	expect(&in, VERDICT_HELPED, "without readahead");
	in.windows_read_ahead = n(1001);
	expect(&in, VERDICT_CUT_SHORT, "only 50 %");
	in.windows_read_ahead = n(9000);
	expect(&in, VERDICT_CUT_SHORT, "only 10 %");
	in.windows_read_ahead = n(9001);
	expect(&in, VERDICT_NO_EFFECT, "9,001 readahead windows");
	/* Everything was cached. */
	in = random_reads();
	in.demand = n(0);
	in.windows_forced = n(0);
	expect(&in, VERDICT_REDUNDANT, "cached");
	/* Windows of WILLNEED count as forced ones. */
	in = random_reads();
	in.advised = n(1);
	expect(&in, VERDICT_NONE, "other advice");
	in = random_reads();
	in.windows_forced = n(0);
	expect(&in, VERDICT_NONE, "no readahead window");
}

static void of_random_on_a_mapping(void **state)
{
	struct verdict_standing in = random_reads();

	in.mapping = true;
	in.pattern = "mmap_random";
	in.faults_major = n(500);
	expect(&in, VERDICT_HELPED, "500 faults fetched only their page");
	in.around = in.prefetched = n(500);
	expect(&in, VERDICT_HELPED, "500 faults");
	in.around = in.prefetched = n(501);
	expect(&in, VERDICT_NO_EFFECT, "501 pages were read around");
	in.around = n(0);
	in.pattern = "mmap_sequential";
	expect(&in, VERDICT_HARMFUL, "in order");
	in.faults_major = n(0);
	expect(&in, VERDICT_REDUNDANT, "cached");
	in.faults_major.known = false;
	expect(&in, VERDICT_NONE, "not measured");
}

static void of_sequential(void **state)
{
	struct verdict_standing in = larger_windows();

	expect(&in, VERDICT_HELPED, "990 of 990");
	/* 32 to 63 is also the bucket of default windows. */
	in.window_pages_max = n(63);
	expect(&in, VERDICT_NO_EFFECT, "no window was larger than 32 pages");
	in = larger_windows();
	in.window_pages_max = n(255);
	expect(&in, VERDICT_NONE, "large reads");
	in = larger_windows();
	in.pages_per_call = f(16);
	expect(&in, VERDICT_HELPED, "990");
	in.pages_per_call = f(17);
	expect(&in, VERDICT_NONE, "large reads");
	in = larger_windows();
	in.used = n(100);
	in.evicted_unused = n(100);
	expect(&in, VERDICT_HARMFUL, "100 of 200");
	in.evicted_unused = n(99);
	expect(&in, VERDICT_HELPED, "100 of 199");
	in.used_late = n(100);
	expect(&in, VERDICT_TOO_LATE, "100 of the 200");
	in.used_late = n(99);
	expect(&in, VERDICT_HELPED, "199 of 298");
	in = larger_windows();
	in.used = n(0);
	expect(&in, VERDICT_NONE, "has a settled fate");
	/* A quarter of them was not followed, then more. */
	in = larger_windows();
	in.used = n(750);
	in.untracked = 250;
	expect(&in, VERDICT_HELPED, "750 of 750");
	in.untracked = 251;
	expect(&in, VERDICT_NONE, "251 pages");
	in = larger_windows();
	in.demand = in.prefetched = n(0);
	expect(&in, VERDICT_REDUNDANT, "cached");
	in = larger_windows();
	in.mapping = true;
	expect(&in, VERDICT_NONE, "mapping");
}

static void of_noreuse_and_normal(void **state)
{
	struct verdict_standing in = {.kind = "noreuse", .has_file = true, .reclaimed = n(0)};

	expect(&in, VERDICT_NO_EFFECT, "no page of the file was reclaimed");
	in.reclaimed = n(1);
	expect(&in, VERDICT_NONE, "1 pages were reclaimed");
	in.reclaimed.known = false;
	expect(&in, VERDICT_NONE, "not measured");
	in = (struct verdict_standing){.kind = "normal", .others_standing = n(0)};
	expect(&in, VERDICT_REDUNDANT, "no other advice");
	in.others_standing = n(1);
	expect(&in, VERDICT_NONE, "revoking");
	in.others_standing.known = false;
	expect(&in, VERDICT_NONE, "not recorded");
}

/* Removing a figure never gives a verdict that its presence does not give: only another reason,
 * or no verdict. */
static void absent_is_not_zero(void **state)
{
	static const size_t of_random[] = {
		offsetof(struct verdict_standing, advised),
		offsetof(struct verdict_standing, windows_read_ahead),
		offsetof(struct verdict_standing, windows_forced),
	};
	static const size_t of_sequential[] = {
		offsetof(struct verdict_standing, window_pages_max),
		offsetof(struct verdict_standing, read_ahead_pages),
		offsetof(struct verdict_standing, used),
		offsetof(struct verdict_standing, used_late),
		offsetof(struct verdict_standing, evicted_unused),
	};
	struct verdict_standing in;

	for (size_t i = 0; i < sizeof(of_random) / sizeof(of_random[0]); i++) {
		in = random_reads();
		((struct opt_i64 *)((char *)&in + of_random[i]))->known = false;
		expect(&in, VERDICT_NONE, "");
	}
	for (size_t i = 0; i < sizeof(of_sequential) / sizeof(of_sequential[0]); i++) {
		in = larger_windows();
		((struct opt_i64 *)((char *)&in + of_sequential[i]))->known = false;
		expect(&in, VERDICT_NONE, "");
	}
	in = larger_windows();
	in.pages_per_call.known = false;
	expect(&in, VERDICT_NONE, "");
	in = random_reads();
	in.confidence.known = false;
	expect(&in, VERDICT_NONE, "");
	/* Whether everything was cached is not known: the other figures decide. */
	in = random_reads();
	in.demand = (struct opt_i64){0};
	expect(&in, VERDICT_HELPED, "");
	in = random_reads();
	in.has_file = false;
	expect(&in, VERDICT_NONE, "not listed separately");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_random),	      cmocka_unit_test(of_random_on_a_mapping),
		cmocka_unit_test(of_sequential),      cmocka_unit_test(of_noreuse_and_normal),
		cmocka_unit_test(absent_is_not_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
