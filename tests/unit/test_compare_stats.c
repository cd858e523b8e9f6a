/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advisor/compare/cells.h"
#include "advisor/stats/stats.h"
#include "advisor/compare/paired.h"
#include "fixtures/chance.h"

static void close_to(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("expected %.12g, got %.12g", want, got);
}

/* Tables of the t distribution from textbooks; df 1 and 2 also in closed form. */
static void student_as_in_tables(void **state)
{
	static const struct {
		double df, p, t;
	} table[] = {
		{1, 0.975, 12.7062047362}, {2, 0.975, 4.3026527297}, {5, 0.975, 2.5705818356},
		{9, 0.975, 2.2621571628},  {10, 0.95, 1.8124611228}, {30, 0.995, 2.7499956536},
		{120, 0.9, 1.2886462317},  {7, 0.8, 0.8960296443},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		close_to(stats_student_quantile(table[i].p, table[i].df), table[i].t, 1e-8);
		close_to(stats_student_quantile(1 - table[i].p, table[i].df), -table[i].t, 1e-8);
		close_to(stats_student_two_sided(table[i].t, table[i].df), 2 * (1 - table[i].p),
			 1e-8);
	}
	for (double t = 0.1; t < 60; t *= 1.7) {
		close_to(stats_student_two_sided(t, 1), 1 - 2 / M_PI * atan(t), 1e-13);
		close_to(stats_student_two_sided(t, 2), 1 - t / sqrt(2 + t * t), 1e-13);
	}
	close_to(stats_student_two_sided(0, 4), 1, 0);
	close_to(stats_student_two_sided(INFINITY, 4), 0, 0);
}

/* The example of Holm (1979), with the result of R's p.adjust(). */
static void holm_as_in_r(void **state)
{
	double p[] = {0.01, 0.04, NAN, 0.03, 0.005};
	double want[] = {0.03, 0.06, NAN, 0.06, 0.02};
	double none[] = {NAN, NAN};
	double high[] = {0.6, 0.7};

	(void)state;
	stats_holm(p, 5);
	for (int i = 0; i < 5; i++)
		if (isnan(want[i]))
			assert_true(isnan(p[i]));
		else
			close_to(p[i], want[i], 1e-15);
	stats_holm(none, 2);
	assert_true(isnan(none[0]));
	stats_holm(high, 2);
	close_to(high[0], 1, 0);
	close_to(high[1], 1, 0);
	stats_holm(NULL, 0);
}

/* By hand: 0.005 and 0.01 are significant whatever 0.03 and 0.04 are, so each of the latter is
 * judged as one of two tests, and each of the former as one of three. */
static void holm_levels(void **state)
{
	const double p[] = {0.01, 0.04, NAN, 0.03, 0.005};
	const double far[] = {0.6, 0.7, 0.9};
	const double one[] = {0.01};

	(void)state;
	close_to(stats_holm_level(p, 5, 1, 0.05), 0.05 / 2, 1e-15);
	close_to(stats_holm_level(p, 5, 3, 0.05), 0.05 / 2, 1e-15);
	close_to(stats_holm_level(p, 5, 0, 0.05), 0.05 / 3, 1e-15);
	close_to(stats_holm_level(p, 5, 4, 0.05), 0.05 / 3, 1e-15);
	close_to(stats_holm_level(far, 3, 1, 0.05), 0.05 / 3, 1e-15);
	close_to(stats_holm_level(one, 1, 0, 0.05), 0.05, 1e-15);
}

/* At the level, and just above it. */
static void holm_level_is_the_largest(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int k = 0; k < 500; k++) {
		double p[6];
		size_t at = next(&seed) % 6;
		double level;

		for (int i = 0; i < 6; i++)
			p[i] = (double)(next(&seed) % 1000) / (i % 2 ? 20000 : 1000);
		level = stats_holm_level(p, 6, at, 0.05);
		for (int above = 0; above < 2; above++) {
			double adjusted[6];

			memcpy(adjusted, p, sizeof(p));
			adjusted[at] = level * (above ? 1.0001 : 0.9999);
			stats_holm(adjusted, 6);
			assert_int_equal(adjusted[at] > 0.05, above);
		}
	}
}

/* 4 intervals of unlike work; by hand. */
static void cells_share_work_out(void **state)
{
	double num[] = {4, 2, 0, 6};
	double work[] = {10, 30, 0, 40};
	struct compare_series s = {num, work, work, 4};
	double values[2];
	double quarters[4];
	double ratio = 0;

	(void)state;
	assert_int_equal(cells_values(&s, 2, values, &ratio), 0);
	close_to(ratio, 12.0 / 80, 1e-15);
	/* Half of the work is done after the second interval: 6 / 40 and 6 / 40. */
	close_to(values[0], 6.0 / 40, 1e-15);
	close_to(values[1], 6.0 / 40, 1e-15);
	num[2] = 3; /* without work: in the cell where it occurred */
	assert_int_equal(cells_values(&s, 2, values, &ratio), 0);
	close_to(values[0] + values[1], 2 * 15.0 / 80, 1e-15);
	close_to(values[1] - values[0], 3.0 / 40, 1e-15);
	/* An interval that covers several cells: 40 of 80 in a cell of 4, divided equally. */
	num[2] = 0;
	assert_int_equal(cells_values(&s, 4, quarters, &ratio), 0);
	close_to(quarters[2], 3.0 / 20, 1e-15);
	close_to(quarters[3], 3.0 / 20, 1e-15);
	/* 10 of the first with 4, then 10 of the second's 30 with 2. */
	close_to(quarters[0], (4 + 2.0 / 3) / 20, 1e-15);
}

static void cells_of_nothing(void **state)
{
	double zero[] = {0, 0};
	struct compare_series s = {zero, zero, zero, 2};
	double values[2];
	double ratio = 0;

	(void)state;
	assert_true(cells_values(&s, 2, values, &ratio) < 0);
	assert_int_equal(cells_number(0, 5), 0);
	assert_int_equal(cells_number(7, 5), 5);
	assert_int_equal(cells_number(100000, 100000), CELLS_MAX);
}

enum shape { NORMAL, SKEWED };

/* A first-order process, transformed by a shape, plus a cold start. */
static void process(uint64_t *seed, enum shape shape, double phi, double cold, double *x, size_t nr)
{
	double v = normal(seed);

	for (size_t i = 0; i < nr; i++) {
		double y = shape == SKEWED ? exp(1.2 * v) : v;

		x[i] = y + (i < nr / 4 ? cold : 0);
		v = phi * v + sqrt(1 - phi * phi) * normal(seed);
	}
}

/* The share of tested pairs in which a gain after a cold start is found at p <= 0.05. */
static double power_of(enum shape shape, double phi, double cold, double gain, size_t nr, int pairs)
{
	uint64_t seed = 20260101;
	int shown = 0;
	int possible = 0;

	for (int k = 0; k < pairs; k++) {
		double a[CELLS_MAX];
		double b[CELLS_MAX];
		struct paired t;

		process(&seed, shape, phi, cold, a, nr);
		process(&seed, shape, phi, cold, b, nr);
		for (size_t i = nr / 4; i < nr; i++)
			b[i] -= gain;
		t = paired_test(a, b, nr);
		possible += t.why == PAIRED_TESTED;
		shown += t.why == PAIRED_TESTED && t.p <= 0.05 && t.difference < 0;
	}
	return possible ? (double)shown / possible : 0;
}

/* A difference that is large compared with the noise is found, even after a cold start of both
 * runs. */
static void power(void **state)
{
	(void)state;
	assert_true(power_of(NORMAL, 0.3, 20, 3, 40, 300) > 0.8);
	assert_true(power_of(NORMAL, 0.5, 20, 3, 100, 300) > 0.9);
	assert_true(power_of(NORMAL, 0, 20, 3, 20, 300) > 0.8);
	assert_true(power_of(SKEWED, 0.3, 20, 4, 100, 300) > 0.8);
}

/* A difference of the size it says it can detect is found in 4 of 5 pairs. */
static void detected_at(double level)
{
	uint64_t seed = 7;
	int found = 0;
	double sum = 0;
	int pairs = 1000;

	for (int k = 0; k < 2 * pairs; k++) {
		double a[60];
		double b[60];
		struct paired t;

		process(&seed, NORMAL, 0.3, 0, a, 60);
		process(&seed, NORMAL, 0.3, 0, b, 60);
		if (k >= pairs)
			for (int i = 0; i < 60; i++)
				b[i] += sum / pairs;
		t = paired_test(a, b, 60);
		if (k < pairs)
			sum += paired_detectable(&t, t.difference, level);
		else
			found += t.why == PAIRED_TESTED && t.p <= level;
	}
	print_message("at %g: %d of %d\n", level, found, pairs);
	assert_in_range(found, pairs * 75 / 100, pairs * 87 / 100);
}

static void detectable_is_detected(void **state)
{
	(void)state;
	detected_at(0.05);
	detected_at(0.05 / 10);
}

/* The variance of the mean of n values of a first-order process with variance 1, by its
 * definition. */
static double mean_variance(double phi, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			sum += pow(phi, abs(i - k));
	return sum / n / n;
}

enum { CELLS = 20, BATCHES = 10 };

/* Two of three are low: neighbours never match, and the means of pairs differ. */
static void in_threes(double *x)
{
	for (int i = 0; i < CELLS; i++)
		x[i] = i % 3 ? -0.5 : 1;
}

/* The squared error of in_threes(), by hand: from the means of ten pairs, with the largest
 * correlation of values that look independent (a correlation time of 1.3, plus a 20th for the
 * subtracted mean). */
static double squared_error(double phi)
{
	double x[CELLS];
	double mean = 0;
	double squares = 0;
	double alike;

	in_threes(x);
	for (int i = 0; i < CELLS; i++)
		mean += x[i] / CELLS;
	for (int i = 0; i < BATCHES; i++) {
		double m = (x[2 * i] + x[2 * i + 1]) / 2 - mean;

		squares += m * m;
	}
	alike = mean_variance(phi, CELLS) * CELLS * (BATCHES - 1) /
		(CELLS * (mean_variance(phi, 2) - mean_variance(phi, CELLS)));
	return 1.15 * 1.15 * squares / (BATCHES - 1) / BATCHES * fmax(alike, 1);
}

static double least_alike(void)
{
	double time = 1.3 / (1 - 1.0 / CELLS);

	return (time - 1) / (time + 1);
}

static void known_answer(void **state)
{
	double a[CELLS] = {0};
	double b[CELLS];
	double phi = least_alike();
	struct paired t;

	(void)state;
	in_threes(b);
	t = paired_test(a, b, CELLS);
	assert_int_equal(t.why, PAIRED_TESTED);
	assert_int_equal(t.batches, BATCHES);
	close_to(t.effective_cells, CELLS * (1 - phi) / (1 + phi), 1e-9);
	/* Seven of twenty are 1. */
	close_to(t.difference, (7 - 13 * 0.5) / CELLS, 1e-12);
	close_to(t.error, sqrt(squared_error(phi)), 1e-9);
	close_to(t.p, stats_student_two_sided(t.difference / t.error, BATCHES - 1), 1e-12);
}

/* Four values of the other run, with variance 8 / 3, are worth four thirds of one. */
static void lone_known_answer(void **state)
{
	double a[CELLS];
	double b[] = {2, 4, 4, 6};
	double one = squared_error(least_alike());
	double other = 8.0 / 3 / (4 / 3.0);
	struct paired t;

	(void)state;
	in_threes(a);
	t = paired_lone(a, CELLS, b, 4, 1, true);
	assert_int_equal(t.why, PAIRED_TESTED);
	close_to(t.difference, 4 - 0.025, 1e-12);
	close_to(t.error, sqrt(one + other), 1e-9);
	close_to(t.degrees, (one + other) * (one + other) / (one * one / 9 + other * other / 3),
		 1e-9);
	close_to(t.p, stats_student_two_sided(t.difference / t.error, t.degrees), 1e-12);
	/* The short run's values differ less than the long run's error over half of its work
	 * allows. */
	b[0] = b[1] = b[2] = b[3] = 4;
	t = paired_lone(a, CELLS, b, 4, 2, false);
	close_to(t.error, sqrt(one + 2 * one), 1e-9);
	close_to(t.degrees, 9, 0);
}

static bool called_different(struct paired t)
{
	return t.why == PAIRED_TESTED && t.p <= 0.05;
}

/* A start that is faster than the rest, in an otherwise steady long run and in a faster short
 * one, is not chance. If the short run has no such start, or the shares of work differ, it may
 * be anything. */
static void lone_beginning_is_no_chance(void **state)
{
	enum { LONG = 52, START = 7 };
	static const double flat[] = {2, 2, 2, 2, 2, 2, 2};
	static const double other_way[] = {3, 2, 2.1, 1.9, 2, 2.1, 2};
	double a[LONG];
	double b[] = {1, 2, 2.1, 1.9, 2, 2.1, 2};
	struct paired t;

	(void)state;
	for (int i = 0; i < LONG; i++)
		a[i] = i < START ? 1 : 10 + 0.1 * (i % 3);
	t = paired_lone(a, LONG, b, 7, 1, true);
	assert_int_equal(t.why, PAIRED_TESTED);
	assert_true(called_different(t) && t.p < 0.001 && t.difference < 0);
	t = paired_lone(b, 7, a, LONG, 1, true);
	assert_true(called_different(t) && t.p < 0.001 && t.difference > 0);
	assert_false(called_different(paired_lone(a, LONG, b, 7, 1, false)));
	assert_false(called_different(paired_lone(a, LONG, flat, 7, 1, true)));
	assert_false(called_different(paired_lone(a, LONG, other_way, 7, 1, true)));
}

/* A slow wave is too alike for a test of small changes; a change of 20 times exceeds it. The
 * interval is that of the logarithms, around the difference. */
static void far_apart_is_no_chance(void **state)
{
	enum { LONG = 60 };
	double a[LONG];
	double b[LONG];
	double low = 0;
	double high = 0;
	struct paired t;

	(void)state;
	for (int i = 0; i < LONG; i++) {
		a[i] = 8 * exp(0.2 * sin(i * M_PI / 30));
		b[i] = a[i] * 1.1 * exp(0.1 * cos(i * M_PI / 30));
	}
	t = paired_test(a, b, LONG);
	assert_false(called_different(t));
	for (int i = 0; i < LONG; i++)
		b[i] /= 22;
	t = paired_test(a, b, LONG);
	assert_true(called_different(t) && t.log_error > 0 && t.difference < 0);
	close_to(t.log_change, -log(20), 1e-9);
	close_to(t.p, stats_student_two_sided(t.log_change / t.log_error, APART_DEGREES), 1e-12);
	assert_true(paired_interval(&t, cells_mean(a, LONG), 0.05, &low, &high));
	assert_true(low < t.difference && t.difference < high && high < 0);
	b[7] = 0;
	t = paired_test(a, b, LONG);
	assert_true(t.why == PAIRED_TOO_ALIKE && !(t.log_error > 0));
}

static void swapped_is_mirrored(void **state)
{
	uint64_t seed = 3;
	double a[50];
	double b[50];
	struct paired ab;
	struct paired ba;

	(void)state;
	process(&seed, SKEWED, 0.5, 3, a, 50);
	process(&seed, SKEWED, 0.5, 3, b, 50);
	ab = paired_test(a, b, 50);
	ba = paired_test(b, a, 50);
	assert_int_equal(ab.why, ba.why);
	close_to(ab.difference, -ba.difference, 1e-12);
	close_to(ab.p, ba.p, 1e-12);
	close_to(ab.spread_a, ba.spread_b, 0);
}

static void too_few_and_constant(void **state)
{
	double a[PAIRED_CELLS_MIN] = {0};
	double b[PAIRED_CELLS_MIN];
	double slope[40];
	double flat[40] = {0};
	struct paired t;

	(void)state;
	for (int i = 0; i < PAIRED_CELLS_MIN; i++)
		b[i] = 2;
	t = paired_test(a, b, PAIRED_CELLS_MIN - 1);
	assert_int_equal(t.why, PAIRED_TOO_FEW);
	close_to(t.difference, 2, 1e-15);
	t = paired_test(a, b, 0);
	assert_int_equal(t.why, PAIRED_TOO_FEW);
	t = paired_test(a, b, PAIRED_CELLS_MIN);
	assert_int_equal(t.why, PAIRED_TESTED);
	close_to(t.p, 0, 0);
	t = paired_test(a, a, PAIRED_CELLS_MIN);
	close_to(t.p, 1, 0);
	/* A constantly drifting difference is one value, not forty. */
	for (int i = 0; i < 40; i++)
		slope[i] = i;
	t = paired_test(flat, slope, 40);
	assert_int_equal(t.why, PAIRED_TOO_ALIKE);
	close_to(t.difference, 19.5, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_as_in_tables),
		cmocka_unit_test(holm_as_in_r),
		cmocka_unit_test(holm_levels),
		cmocka_unit_test(holm_level_is_the_largest),
		cmocka_unit_test(cells_share_work_out),
		cmocka_unit_test(cells_of_nothing),
		cmocka_unit_test(known_answer),
		cmocka_unit_test(lone_known_answer),
		cmocka_unit_test(lone_beginning_is_no_chance),
		cmocka_unit_test(far_apart_is_no_chance),
		cmocka_unit_test(swapped_is_mirrored),
		cmocka_unit_test(too_few_and_constant),
		cmocka_unit_test(power),
		cmocka_unit_test(detectable_is_detected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
