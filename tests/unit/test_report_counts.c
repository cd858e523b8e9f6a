/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cachemon/figures/counts.h"
#include "cachemon/figures/show.h"

static struct counts all_known(void)
{
	struct counts c = {0};

	for (int i = 0; i < C_NR; i++)
		c.known[i] = true;
	return c;
}

static void assert_count(struct opt_i64 v, int64_t want)
{
	assert_true(v.known);
	assert_int_equal(v.value, want);
}

/* The page size is that of the run's kernel. */
static void pages_to_bytes(void **state)
{
	static const int64_t sizes[] = {4 << 10, 16 << 10, 64 << 10};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct counts c = all_known();
		struct derived d;

		c.c[C_evicted_unused] = 5;
		c.c[C_untracked] = 1000;
		counts_derive(&c, sizes[i], &d);
		assert_count(d.waste_bytes, 5 * sizes[i]);
	}
}

static void derived_figures(void **state)
{
	struct counts c = all_known();
	struct derived d;

	c.c[C_lookups] = 1000;
	c.c[C_misses] = 250;
	c.c[C_prefetched_sync] = 1;
	c.c[C_prefetched_async] = 2;
	c.c[C_prefetched_willneed] = 4;
	c.c[C_prefetched_readahead2] = 8;
	c.c[C_prefetched_mmap_around] = 16;
	c.c[C_used] = 15;
	c.c[C_used_late] = 5;
	c.c[C_evicted_unused] = 5;
	c.c[C_resident_unused] = 4;
	c.c[C_untracked] = 2;
	counts_derive(&c, 4096, &d);
	assert_count(d.hits, 750);
	assert_true(d.hit_ratio.known && d.hit_ratio.value == 0.75);
	assert_count(d.prefetched_pages, 31);
	assert_count(d.law_error_pages, 0);
	assert_count(d.waste_bytes, 5 * 4096);
	assert_true(d.accuracy.value == 0.8);
	assert_true(fabs(d.coverage.value - 20.0 / 270) < 1e-15);
	assert_true(d.timeliness.value == 0.75);
	c.c[C_untracked] = 0;
	counts_derive(&c, 4096, &d);
	assert_count(d.law_error_pages, 2);
	c.c[C_untracked] = 9;
	counts_derive(&c, 4096, &d);
	assert_count(d.law_error_pages, 7);
}

/* Each missing input removes exactly the figures that need it. */
static void absent_propagates(void **state)
{
	static const struct {
		enum counter absent;
		bool hits, hit_ratio, prefetched, waste, accuracy, coverage, timeliness, law;
	} table[] = {
		{C_lookups, 0, 0, 1, 1, 1, 1, 1, 1},
		{C_misses, 0, 0, 1, 1, 1, 0, 1, 1},
		{C_prefetched_willneed, 1, 1, 0, 1, 1, 1, 1, 0},
		{C_used, 1, 1, 1, 1, 0, 0, 0, 0},
		{C_used_late, 1, 1, 1, 1, 0, 0, 0, 0},
		{C_evicted_unused, 1, 1, 1, 0, 0, 1, 1, 0},
		{C_resident_unused, 1, 1, 1, 1, 1, 1, 1, 0},
		{C_read_calls, 1, 1, 1, 1, 1, 1, 1, 1},
	};
	struct derived d;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct counts c = all_known();

		c.c[C_lookups] = 10;
		c.c[C_misses] = 5;
		c.c[C_used] = c.c[C_prefetched_async] = 1;
		c.known[table[i].absent] = false;
		counts_derive(&c, 4096, &d);
		assert_int_equal(d.hits.known, table[i].hits);
		assert_int_equal(d.hit_ratio.known, table[i].hit_ratio);
		assert_int_equal(d.prefetched_pages.known, table[i].prefetched);
		assert_int_equal(d.waste_bytes.known, table[i].waste);
		assert_int_equal(d.accuracy.known, table[i].accuracy);
		assert_int_equal(d.coverage.known, table[i].coverage);
		assert_int_equal(d.timeliness.known, table[i].timeliness);
		assert_int_equal(d.law_error_pages.known, table[i].law);
	}
}

static void no_ratio_of_nothing(void **state)
{
	struct counts c = all_known();
	struct derived d;

	counts_derive(&c, 4096, &d);
	assert_count(d.hits, 0);
	assert_false(d.hit_ratio.known);
	assert_false(d.accuracy.known);
	assert_false(d.coverage.known);
	assert_false(d.timeliness.known);
	/* More misses than lookups gives no hit count. */
	c.c[C_misses] = 1;
	counts_derive(&c, 4096, &d);
	assert_false(d.hits.known);
	assert_false(d.hit_ratio.known);
	/* Without a page size there are no bytes. */
	counts_derive(&c, 0, &d);
	assert_false(d.waste_bytes.known);
}

static void overflow_is_absent(void **state)
{
	struct counts c = all_known();
	struct derived d;

	c.c[C_prefetched_sync] = INT64_MAX;
	c.c[C_prefetched_async] = 1;
	c.c[C_evicted_unused] = INT64_MAX / 2;
	counts_derive(&c, 4096, &d);
	assert_false(d.prefetched_pages.known);
	assert_false(d.waste_bytes.known);
}

static struct range about(double value, double low, double high)
{
	return (struct range){{value, true}, {low, true}, {high, true}};
}

/* Values that only the per-read hook measures are estimates with an interval; the rest is exact. */
static void sliced_has_its_estimates(void **state)
{
	struct estimates e = {0};
	struct counts c = all_known();
	struct derived d;
	struct range r;

	e.of[ESTIMATE_LOOKUPS] = about(2950, 2900, 3000);
	e.of[ESTIMATE_HITS] = about(2700, 2650, 2750);
	e.of[ESTIMATE_HIT_RATIO] = about(0.9153, 0.913, 0.917);
	e.of[ESTIMATE_READ_CALLS] = about(30, 29, 31);
	c.c[C_lookups] = 1000;
	c.c[C_misses] = 250;
	c.c[C_delayed_hits] = 7;
	c.c[C_stall_ns] = 12;
	counts_slice(&c, &e, false);
	counts_derive(&c, 4096, &d);
	assert_count(counts_get(&c, C_lookups), 2950);
	assert_count(d.hits, 2700);
	assert_true(d.hit_ratio.known);
	assert_count(counts_get(&c, C_read_calls), 30);
	assert_true(counts_range(&c, ESTIMATE_LOOKUPS, &r));
	assert_true(r.low.value == 2900 && r.high.value == 3000);
	/* Absent stays absent, whatever was seen. */
	assert_false(counts_get(&c, C_delayed_hits).known);
	assert_false(counts_get(&c, C_read_bytes).known);
	assert_false(counts_range(&c, ESTIMATE_READ_BYTES, &r));
	assert_count(counts_get(&c, C_misses), 250);
	assert_count(counts_get(&c, C_stall_ns), 12);
	assert_true(counts_estimated(&c, C_lookups));
	assert_true(counts_estimated(&c, C_delayed_hits));
	assert_false(counts_estimated(&c, C_misses));
	assert_false(counts_estimated(&c, C_used));
	assert_false(counts_estimated(&c, C_stall_ns));
}

/* Lookups can be known without hits: few hits of many lookups. */
static void sliced_hits_may_be_too_wide(void **state)
{
	struct estimates e = {0};
	struct counts c = all_known();
	struct derived d;

	e.of[ESTIMATE_LOOKUPS] = about(1000, 950, 1050);
	c.c[C_misses] = 990;
	counts_slice(&c, &e, false);
	counts_derive(&c, 4096, &d);
	assert_count(counts_get(&c, C_lookups), 1000);
	assert_false(d.hits.known);
	assert_false(d.hit_ratio.known);
	/* The ratio can be known without either: for many hits, the lookups hardly matter. */
	e.of[ESTIMATE_LOOKUPS] = e.of[ESTIMATE_HITS] = (struct range){0};
	e.of[ESTIMATE_HIT_RATIO] = about(0.9998, 0.9997, 0.9999);
	counts_derive(&c, 4096, &d);
	assert_false(d.hits.known);
	assert_true(d.hit_ratio.known && d.hit_ratio.value == 0.9998);
}

static void sliced_without_estimates(void **state)
{
	struct counts c = all_known();
	struct derived d;

	c.c[C_lookups] = 10;
	c.c[C_misses] = 5;
	c.c[C_stalls] = 3;
	counts_slice(&c, NULL, true);
	counts_derive(&c, 4096, &d);
	assert_false(counts_get(&c, C_lookups).known);
	assert_false(counts_get(&c, C_read_calls).known);
	assert_false(counts_get(&c, C_stalls).known);
	assert_false(d.hits.known);
	assert_false(d.hit_ratio.known);
	assert_count(counts_get(&c, C_misses), 5);
}

/* Pages that were not followed may have been used: fates are lower bounds and ratios have a
 * range. */
static void sliced_fates_are_open(void **state)
{
	struct counts c = all_known();
	struct derived d;

	c.c[C_used] = 800;
	c.c[C_evicted_unused] = 100;
	c.c[C_untracked] = 100;
	c.c[C_prefetched_async] = 1000;
	counts_slice(&c, NULL, false);
	counts_derive(&c, 4096, &d);
	assert_true(counts_lower_bound(&c, C_used));
	assert_true(counts_lower_bound(&c, C_evicted_unused));
	assert_true(counts_lower_bound(&c, C_resident_unused));
	assert_false(counts_lower_bound(&c, C_untracked));
	assert_false(counts_lower_bound(&c, C_evicted_other));
	assert_true(d.accuracy.known);
	assert_true(d.accuracy.value == 800.0 / 900);
	assert_true(d.accuracy_range.low.value == 0.8 && d.accuracy_range.high.value == 0.9);
	/* The range is wider than a quarter. */
	c.c[C_untracked] = 300;
	c.c[C_prefetched_async] = 1200;
	counts_derive(&c, 4096, &d);
	assert_false(d.accuracy.known);
	/* All were followed: exact. */
	c = all_known();
	c.c[C_used] = 800;
	c.c[C_evicted_unused] = 100;
	c.c[C_prefetched_async] = 900;
	counts_slice(&c, NULL, false);
	counts_derive(&c, 4096, &d);
	assert_false(counts_lower_bound(&c, C_used));
	assert_false(d.accuracy_range.low.known);
	assert_true(d.accuracy.known);
}

/* The use of mapped pages is not seen: the accuracy of a few reads does not apply to the rest. */
static void accuracy_is_not_of_a_small_part(void **state)
{
	struct counts c = all_known();
	struct derived d;

	c.c[C_used] = 94;
	c.c[C_used_late] = 0;
	c.c[C_evicted_unused] = 5;
	c.c[C_untracked] = 3000;
	c.c[C_prefetched_mmap_around] = 3099;
	counts_derive(&c, 4096, &d);
	assert_false(d.accuracy.known);
	assert_false(d.coverage.known);
	assert_false(d.timeliness.known);
	/* Up to a quarter may all have been used, or none; with more, there is no ratio. */
	c.c[C_untracked] = 33;
	c.c[C_prefetched_mmap_around] = 132;
	counts_derive(&c, 4096, &d);
	assert_true(d.accuracy.known);
	assert_true(d.accuracy.value == 94.0 / 99);
	c.c[C_untracked] = 34;
	c.c[C_prefetched_mmap_around] = 133;
	counts_derive(&c, 4096, &d);
	assert_false(d.accuracy.known);
	/* Used pages of a mapping are untracked, unused ones are evicted unused. */
	c.c[C_used] = 77;
	c.c[C_evicted_unused] = 134986;
	c.c[C_untracked] = 87558;
	c.c[C_prefetched_mmap_around] = 222621;
	counts_derive(&c, 4096, &d);
	assert_false(d.accuracy.known);
}

/* Few lookups compared with faults or mapped pages: the hit ratio does not describe the job. */
static void reading_through_mappings(void **state)
{
	struct opt_i64 one = {1, true}, hundred = {100, true}, unknown = {0};
	struct counts c = all_known();

	c.c[C_lookups] = 60;
	c.c[C_faults_major] = 32 + 60;
	c.c[C_mapped_pages_upper_bound] = 2048 + 243;
	assert_false(counts_mapped(&c, one));
	c.c[C_faults_major] = 32 + 61;
	assert_true(counts_mapped(&c, one));
	assert_true(counts_mapped(&c, unknown));
	assert_false(counts_mapped(&c, hundred));
	c.c[C_faults_major] = 0;
	c.c[C_mapped_pages_upper_bound] = 2048 + 244;
	assert_true(counts_mapped(&c, one));
	assert_false(counts_mapped(&c, hundred));
	/* Not measured does not mean few. */
	c.known[C_lookups] = false;
	assert_false(counts_mapped(&c, one));
}

/* Measured on programs that read nothing: the pages of their libraries at the start. */
static void starts_of_programs(void **state)
{
	static const struct {
		int64_t processes, lookups, mapped;
	} starts[] = {
		{1, 8, 394}, {1, 9, 543}, {1, 32, 1793}, {41, 817, 40756}, {102, 1017, 44863}};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct counts c = all_known();

		c.c[C_lookups] = starts[i].lookups;
		c.c[C_faults_major] = 0;
		c.c[C_mapped_pages_upper_bound] = starts[i].mapped;
		assert_false(counts_mapped(&c, (struct opt_i64){starts[i].processes, true}));
		/* One of them maps 32 MiB and reads it completely. */
		c.c[C_mapped_pages_upper_bound] += 8192;
		if (starts[i].processes == 1)
			assert_true(counts_mapped(&c, (struct opt_i64){1, true}));
	}
}

static struct shown hits_between(double v, double low, double high)
{
	struct estimates e = {0};
	struct counts c = all_known();
	struct derived d;

	e.of[ESTIMATE_HIT_RATIO] = (struct range){{v, true}, {low, true}, {high, true}};
	counts_slice(&c, &e, false);
	counts_derive(&c, 4096, &d);
	return show_hit_ratio(&c, &d);
}

static void interval_that_says_nothing(void **state)
{
	assert_string_equal(hits_between(0.81, 0.781, 0.842).s, "~81.0 % (78.1 to 84.2)");
	assert_string_equal(hits_between(0.99996, 0.9999, 0.99998).s, "~>99.9 %");
	assert_string_equal(hits_between(0.81, 0.8099, 0.8101).s, "~81.0 %");
	assert_string_equal(hits_between(0.9994, 0.9994, 0.9999).s, "~99.9 % (99.9 to >99.9)");
}

static void whole_run_is_untouched(void **state)
{
	struct counts c = all_known();

	c.c[C_lookups] = 10;
	assert_count(counts_get(&c, C_lookups), 10);
	assert_false(counts_estimated(&c, C_lookups));
}

static void rest_of_a_job(void **state)
{
	struct counts job = all_known();
	struct counts file = all_known();

	job.c[C_misses] = 10;
	file.c[C_misses] = 4;
	job.c[C_resident_unused] = 2;
	file.c[C_resident_unused] = -3; /* began to count in the middle */
	file.known[C_stalls] = false;
	assert_false(counts_get(&file, C_resident_unused).known);
	counts_subtract(&job, &file);
	assert_count(counts_get(&job, C_misses), 6);
	assert_count(counts_get(&job, C_resident_unused), 5);
	assert_false(counts_get(&job, C_stalls).known);
	assert_true(counts_any(&job));
	counts_subtract(&job, &job);
	assert_false(counts_any(&job));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(derived_figures),
		cmocka_unit_test(pages_to_bytes),
		cmocka_unit_test(absent_propagates),
		cmocka_unit_test(no_ratio_of_nothing),
		cmocka_unit_test(overflow_is_absent),
		cmocka_unit_test(sliced_has_its_estimates),
		cmocka_unit_test(sliced_hits_may_be_too_wide),
		cmocka_unit_test(sliced_fates_are_open),
		cmocka_unit_test(sliced_without_estimates),
		cmocka_unit_test(reading_through_mappings),
		cmocka_unit_test(starts_of_programs),
		cmocka_unit_test(interval_that_says_nothing),
		cmocka_unit_test(accuracy_is_not_of_a_small_part),
		cmocka_unit_test(whole_run_is_untouched),
		cmocka_unit_test(rest_of_a_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
