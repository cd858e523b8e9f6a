/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access m */
/* Grades: computed by hand, absent if an input is absent, and monotone in every input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/analysis/grade.h"

/* All inputs except touches, the last one, which decides whether there is a stall to judge. */
enum { NR_INPUTS = offsetof(struct grade_input, touches) / sizeof(struct opt_f64) };

static struct opt_f64 known(double v)
{
	return (struct opt_f64){v, true};
}

static struct opt_f64 *input(struct grade_input *in, size_t i)
{
	return (struct opt_f64 *)in + i;
}

static struct grade one(const struct grade_input *in, enum grade_kind k)
{
	struct grade g[GRADE_NR];

	grade_all(in, g);
	return g[k];
}

static void assert_score(const struct grade_input *in, enum grade_kind k, double want)
{
	struct grade g = one(in, k);

	if (!g.score.known || fabs(g.score.value - want) > 1e-9)
		fail_msg("%s: %f instead of %f: %s", grade_names[k], g.score.value, want,
			 g.formula);
	assert_int_equal(g.letter, grade_letter(want));
}

static void test_letters(void **state)
{
	assert_int_equal(grade_letter(1), 'A');
	assert_int_equal(grade_letter(0.9), 'A');
	assert_int_equal(grade_letter(0.8999), 'B');
	assert_int_equal(grade_letter(0.8), 'B');
	assert_int_equal(grade_letter(0.65), 'C');
	assert_int_equal(grade_letter(0.5), 'D');
	assert_int_equal(grade_letter(0.3), 'E');
	assert_int_equal(grade_letter(0.29), 'F');
	assert_int_equal(grade_letter(0), 'F');
}

static void test_by_hand(void **state)
{
	/* 1000 lookups, 400 fetched; at best 300, of which 100 are first touches. */
	struct grade_input curve = {
		.lookups = known(1000),
		.misses = known(150),
		.all_used = known(250),
		.floor = known(0.1),
		.opt_miss = known(0.3),
	};
	/* No curve: 400 fetched, of which 100 are refaults, so 300 are first touches. */
	struct grade_input bound = {
		.lookups = known(1000),
		.misses = known(150),
		.all_used = known(250),
		.refaults = known(100),
		.added_pages = known(400),
	};
	struct grade_input rest = {
		.accuracy = known(0.5),
		.coverage = known(0.75),
		.timeliness = known(0.25),
		.stall_ns = known(3e9),
		.job_stall_ns = known(3e9),
		.wall_ns = known(10e9),
		.cpu_ns = known(5e9),
	};

	assert_score(&curve, GRADE_HITS, 1 - (0.4 - 0.3) / 0.9);
	assert_score(&bound, GRADE_HITS, 1 - (0.4 - 0.3) / 0.7);
	assert_non_null(strstr(one(&bound, GRADE_HITS).formula, "fetched 0.4000"));
	assert_non_null(strstr(one(&bound, GRADE_HITS).formula, "lower bound"));
	assert_score(&bound, GRADE_EVICTION, 0.75);
	assert_score(&rest, GRADE_PREFETCH, 0.5 * (0.6 + 0.4 * 0.25) * (0.8 + 0.2 * 0.75));
	assert_score(&rest, GRADE_STALL, 0.7);
	/* Parallel tasks: 3 of the 8 s that they slept or ran. */
	rest.wall_ns = known(2e9);
	assert_score(&rest, GRADE_STALL, 1 - 3.0 / 8);
	assert_score(&rest, GRADE_OVERALL, (0.2 * 0.5 * 0.7 * 0.95 + 0.4 * (1 - 3.0 / 8)) / 0.6);
	/* Waiting is the most that the rest costs: without it the rest does not count, with 10 % it
	 * counts in full, and with 1 % of waiting the worst is B. */
	bound.refaults = known(400);
	bound.wall_ns = bound.cpu_ns = known(10e9);
	bound.stall_ns = bound.job_stall_ns = known(0);
	assert_score(&bound, GRADE_EVICTION, 0);
	assert_score(&bound, GRADE_HITS, 0.6);
	assert_score(&bound, GRADE_OVERALL, 1);
	bound.cpu_ns = known(0);
	bound.stall_ns = bound.job_stall_ns = known(0.1e9);
	assert_score(&bound, GRADE_OVERALL, (0.02 * 0.6 + 0.02 * 0 + 0.4 * 0.99) / 0.44);
	bound.stall_ns = bound.job_stall_ns = known(1e9);
	assert_score(&bound, GRADE_OVERALL, (0.2 * 0.6 + 0.2 * 0 + 0.4 * 0.9) / 0.8);
	/* A directory of a job that waits elsewhere: the rest counts in full. */
	bound.stall_ns = known(0);
	assert_score(&bound, GRADE_OVERALL, (0.2 * 0.6 + 0.2 * 0 + 0.4 * 1) / 0.8);
	/* Ten refaults do not harm a job with a million lookups. */
	bound.lookups = known(1e6);
	bound.added_pages = known(12);
	bound.refaults = known(10);
	assert_score(&bound, GRADE_EVICTION, 0.999);
}

/* Of 4 s of stall, 1 s was in one directory and 3 s in another: shares of the same time. */
static void test_part_of_a_job(void **state)
{
	struct grade_input one_second = {
		.stall_ns = known(1e9),
		.job_stall_ns = known(4e9),
		.wall_ns = known(10e9),
		.cpu_ns = known(5e9),
		.touches = known(7),
	};
	struct grade_input three = one_second;

	three.stall_ns = known(3e9);
	assert_score(&one_second, GRADE_STALL, 0.9);
	assert_score(&three, GRADE_STALL, 0.7);
	/* Parallel tasks: 4 s of sleep and 5 s of CPU time in 6 s. */
	one_second.wall_ns = three.wall_ns = known(6e9);
	assert_score(&one_second, GRADE_STALL, 1 - 1.0 / 9);
	assert_score(&three, GRADE_STALL, 1 - 3.0 / 9);
	/* A job without requests does not wait: no praise for that. */
	one_second.stall_ns = one_second.touches = known(0);
	assert_int_equal(one(&one_second, GRADE_STALL).letter, 0);
	assert_int_equal(one(&one_second, GRADE_OVERALL).letter, 0);
	one_second.touches = (struct opt_f64){0};
	assert_score(&one_second, GRADE_STALL, 1);
}

/* With the per-read hook off, stall alone is no basis for a grade, least of all an A. */
static void test_level_cold(void **state)
{
	struct grade_input in = {
		.misses = known(100),
		.refaults = known(0),
		.added_pages = known(1000),
		.stall_ns = known(0),
		.job_stall_ns = known(0),
		.wall_ns = known(1e9),
	};

	assert_int_equal(one(&in, GRADE_STALL).letter, 'A');
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 0);
	assert_non_null(strstr(one(&in, GRADE_OVERALL).formula, "were not measured"));
	in.lookups = known(1000);
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
}

/* The lookups of a program that maps its data are those of its start. */
static void test_mapped(void **state)
{
	struct grade_input in = {
		.lookups = known(8),
		.misses = known(0),
		.all_used = known(0),
		.refaults = known(0),
		.added_pages = known(8192),
		.mapped = true,
	};

	assert_int_equal(one(&in, GRADE_HITS).letter, 0);
	assert_non_null(strstr(one(&in, GRADE_HITS).formula, "mappings"));
	assert_int_equal(one(&in, GRADE_EVICTION).letter, 'A');
	in.mapped = false;
	assert_int_equal(one(&in, GRADE_HITS).letter, 'A');
}

/* Reading nothing earns no grade; the partial grades show their figures. */
static void test_start_of_a_program(void **state)
{
	struct grade_input in = {
		.lookups = known(100),
		.misses = known(0),
		.all_used = known(0),
		.refaults = known(0),
		.added_pages = known(0),
		.stall_ns = known(0),
		.job_stall_ns = known(0),
		.wall_ns = known(1e9),
		.touches = known(255),
	};

	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
	in.touches_min = 256;
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 0);
	assert_non_null(strstr(one(&in, GRADE_OVERALL).formula, "starting its programs"));
	assert_int_equal(one(&in, GRADE_STALL).letter, 'A');
	/* Writes, readahead calls and touches count as work. */
	in.added_pages = known(256);
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
	in.added_pages = known(0);
	in.touches = known(256);
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
	/* Unknown values are no reason. */
	in.touches = (struct opt_f64){0};
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
	/* Measured on a program that starts 41 others: 817 lookups and 3,878 minor faults. */
	in.touches = known(4695);
	in.touches_min = grade_touches_min(known(41));
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 0);
	in.touches_min = grade_touches_min(known(1));
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
	assert_true(grade_touches_min((struct opt_f64){0}) == 256);
	in.touches = known(0);
	in.added_pages = (struct opt_f64){0};
	in.stall_ns = known(1);
	assert_int_equal(one(&in, GRADE_OVERALL).letter, 'A');
}

static void test_nothing_to_judge(void **state)
{
	struct grade_input once = {
		.lookups = known(1000),
		.misses = known(100),
		.all_used = known(900),
		.refaults = known(0),
		.added_pages = known(1000),
	};
	struct grade g[GRADE_NR];
	struct grade_input none = {0};

	/* Each page is requested once: every cache size is equally good. */
	assert_int_equal(one(&once, GRADE_HITS).letter, 0);
	assert_non_null(strstr(one(&once, GRADE_HITS).formula, "once"));
	assert_score(&once, GRADE_EVICTION, 1);
	grade_all(&none, g);
	for (int k = 0; k < GRADE_NR; k++) {
		assert_int_equal(g[k].letter, 0);
		assert_false(g[k].score.known);
		assert_true(strlen(g[k].formula) > 10);
	}
}

static double rnd(double most)
{
	return most * (double)rand() / RAND_MAX; /* NOLINT(concurrency-mt-unsafe) */
}

static struct grade_input random_input(void)
{
	struct grade_input in = {0};
	double lookups = 1 + rnd(100000);

	in.lookups = known(lookups);
	in.misses = known(rnd(lookups));
	in.all_used = known(rnd(lookups));
	in.refaults = known(rnd(in.misses.value));
	in.added_pages = known(in.misses.value + rnd(lookups));
	in.floor = known(rnd(0.95));
	in.opt_miss = known(in.floor.value + rnd(1 - in.floor.value));
	in.accuracy = known(rnd(1));
	in.coverage = known(rnd(1));
	in.timeliness = known(rnd(1));
	in.stall_ns = known(rnd(1e10));
	in.job_stall_ns = known(in.stall_ns.value + rnd(1e10));
	in.wall_ns = known(1 + rnd(1e10));
	in.cpu_ns = known(rnd(1e10));
	if (rand() % 2) /* NOLINT(concurrency-mt-unsafe) */
		in.floor.known = in.opt_miss.known = false;
	return in;
}

/* Absent is not 0: without one of its inputs a grade is another one, or absent. */
static void test_absent(void **state)
{
	static const size_t needed[][2] = {
		{offsetof(struct grade_input, lookups), GRADE_HITS},
		{offsetof(struct grade_input, misses), GRADE_HITS},
		{offsetof(struct grade_input, all_used), GRADE_HITS},
		{offsetof(struct grade_input, accuracy), GRADE_PREFETCH},
		{offsetof(struct grade_input, coverage), GRADE_PREFETCH},
		{offsetof(struct grade_input, refaults), GRADE_EVICTION},
		{offsetof(struct grade_input, added_pages), GRADE_EVICTION},
		{offsetof(struct grade_input, stall_ns), GRADE_STALL},
		{offsetof(struct grade_input, job_stall_ns), GRADE_STALL},
		{offsetof(struct grade_input, wall_ns), GRADE_STALL},
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		struct grade_input in = random_input();

		*input(&in, needed[i][0] / sizeof(struct opt_f64)) = (struct opt_f64){0};
		assert_int_equal(one(&in, (enum grade_kind)needed[i][1]).letter, 0);
	}
}

/* +1: a grade never falls as this grows; -1: it never rises; 0: no claim. */
static void test_monotone(void **state)
{
	static const int direction[NR_INPUTS][GRADE_NR] = {
		/* lookups, misses, all_used, refaults, added_pages */
		{[GRADE_HITS] = 1, [GRADE_EVICTION] = 1},
		{[GRADE_HITS] = -1},
		{[GRADE_HITS] = -1},
		{[GRADE_HITS] = -1, [GRADE_EVICTION] = -1},
		{[GRADE_EVICTION] = 1},
		/* floor, opt_miss: the possible optimum */
		{[GRADE_HITS] = 0},
		{[GRADE_HITS] = 1},
		/* accuracy, coverage, timeliness */
		{[GRADE_PREFETCH] = 1},
		{[GRADE_PREFETCH] = 1},
		{[GRADE_PREFETCH] = 1},
		/* stall_ns, job_stall_ns, wall_ns, cpu_ns */
		{[GRADE_STALL] = -1},
		{[GRADE_STALL] = 1},
		{[GRADE_STALL] = 1},
		{[GRADE_STALL] = 1},
	};

	srand(7);
	for (int n = 0; n < 100000; n++) {
		struct grade_input in = random_input();
		struct grade_input more = in;
		size_t i = (size_t)rand() % NR_INPUTS; /* NOLINT(concurrency-mt-unsafe) */
		bool ratio = i >= 5 && i <= 9;
		struct grade before[GRADE_NR];
		struct grade after[GRADE_NR];

		input(&more, i)->value +=
			rnd(ratio ? 1 - input(&in, i)->value : input(&in, i)->value);
		grade_all(&in, before);
		grade_all(&more, after);
		for (int k = GRADE_HITS; k < GRADE_NR; k++) {
			double change = after[k].score.value - before[k].score.value;

			if (!after[k].score.known || !before[k].score.known)
				continue;
			if (!direction[i][k] && i != 5 && fabs(change) > 1e-9)
				fail_msg("%s depends on input %zu", grade_names[k], i);
			if (change * direction[i][k] < -1e-9)
				fail_msg("%s: %f to %f when input %zu grows from %f to %f: %s",
					 grade_names[k], before[k].score.value,
					 after[k].score.value, i, input(&in, i)->value,
					 input(&more, i)->value, after[k].formula);
		}
	}
}

/* Better parts give a better whole. */
static void test_overall_is_monotone(void **state)
{
	int compared = 0;

	srand(8);
	for (int n = 0; n < 10000; n++) {
		struct grade_input in = random_input();
		struct grade_input better = in;
		struct grade before[GRADE_NR];
		struct grade after[GRADE_NR];

		better.accuracy.value += rnd(1 - in.accuracy.value);
		better.stall_ns.value *= rnd(1);
		better.refaults.value *= rnd(1);
		grade_all(&in, before);
		grade_all(&better, after);
		/* If nothing came back, there may be no reuse to judge. */
		if (before[GRADE_HITS].score.known != after[GRADE_HITS].score.known)
			continue;
		compared++;
		assert_true(after[GRADE_OVERALL].score.value >=
			    before[GRADE_OVERALL].score.value - 1e-9);
	}
	assert_true(compared > 5000);
}

/* In slices: a grade based on lookups, or on pages that were not followed, is absent, with a
 * reason. */
static void test_sliced(void **state)
{
	static const enum grade_kind none[] = {GRADE_OVERALL, GRADE_HITS, GRADE_EVICTION};
	struct grade_input in = {.sliced = true};

	in.refaults = known(200);
	in.added_pages = known(1000);
	in.stall_ns = in.job_stall_ns = known(1e8);
	in.wall_ns = in.cpu_ns = known(1e9);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(one(&in, none[i]).letter, 0);
		assert_false(one(&in, none[i]).score.known);
		assert_non_null(strstr(one(&in, none[i]).formula, "slices"));
	}
	/* Waits are exact. */
	assert_score(&in, GRADE_STALL, 1 - 1e8 / 1.1e9);
	/* With any number of lookups, it is an A. */
	in.refaults = known(100);
	assert_score(&in, GRADE_EVICTION, 0.9);
	assert_null(strstr(one(&in, GRADE_EVICTION).formula, "lookups 0"));
	/* At a level without lookups, the added pages are used alone. */
	in.sliced = false;
	in.refaults = known(200);
	assert_score(&in, GRADE_EVICTION, 0.8);
	assert_null(strstr(one(&in, GRADE_EVICTION).formula, "lookups 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),		 cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_part_of_a_job),	 cmocka_unit_test(test_start_of_a_program),
		cmocka_unit_test(test_mapped),		 cmocka_unit_test(test_level_cold),
		cmocka_unit_test(test_nothing_to_judge), cmocka_unit_test(test_absent),
		cmocka_unit_test(test_monotone),	 cmocka_unit_test(test_overall_is_monotone),
		cmocka_unit_test(test_sliced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
