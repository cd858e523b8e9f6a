/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access m */
/* The test for several runs per side, compared with every split counted one by one, with
 * published tables, and with simulated runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "advisor/compare/ranks.h"
#include "fixtures/chance.h"

#define LEVEL 0.05

static double u_of(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	double u = 0;

	for (size_t i = 0; i < nr_a; i++)
		for (size_t k = 0; k < nr_b; k++)
			u += b[k] > a[i] ? 1 : b[k] == a[i] ? 0.5 : 0;
	return u;
}

/* Every split of all values into groups of these sizes, from the bits of a number. */
static double p_by_counting(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	size_t nr = nr_a + nr_b;
	double middle = (double)(nr_a * nr_b) / 2;
	double far = fabs(u_of(a, nr_a, b, nr_b) - middle);
	double all = 0;
	double beyond = 0;

	for (unsigned int bits = 0; bits < 1U << nr; bits++) {
		double x[16], y[16];
		size_t n = 0, m = 0;

		if ((size_t)__builtin_popcount(bits) != nr_a)
			continue;
		for (size_t i = 0; i < nr; i++) {
			double v = i < nr_a ? a[i] : b[i - nr_a];

			if (bits >> i & 1)
				x[n++] = v;
			else
				y[m++] = v;
		}
		all++;
		beyond += fabs(u_of(x, n, y, m) - middle) >= far;
	}
	return beyond / all;
}

static void every_split(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 300; i++) {
		double a[7], b[7];
		size_t nr_a = 1 + next(&seed) % 7;
		size_t nr_b = 1 + next(&seed) % 7;
		bool ties = i % 2;
		struct ranks r;

		for (size_t k = 0; k < nr_a; k++)
			a[k] = ties ? (double)(next(&seed) % 4) : normal(&seed);
		for (size_t k = 0; k < nr_b; k++)
			b[k] = ties ? (double)(next(&seed) % 4) : normal(&seed) + 1;
		assert_int_equal(ranks_test(a, nr_a, b, nr_b, &r), 0);
		assert_true(r.u == u_of(a, nr_a, b, nr_b));
		assert_true(fabs(r.p - p_by_counting(a, nr_a, b, nr_b)) < 1e-12);
		assert_true(r.p >= ranks_least_p(nr_a, nr_b) * (1 - 1e-12) || ties);
	}
}

/* a is 0 .. n-1; b is such that its value is smaller in u pairs. */
static double p_of(size_t nr, size_t u)
{
	double a[RANKS_MAX], b[RANKS_MAX];
	struct ranks r;

	for (size_t i = 0; i < nr; i++) {
		size_t below = u < nr ? u : nr;

		a[i] = (double)i;
		b[i] = (double)(nr - below) - 0.5 + (double)i / 1000;
		u -= below;
	}
	assert_int_equal(ranks_test(a, nr, b, nr, &r), 0);
	return r.p;
}

/* The largest U that is significant at 5 %, two-sided: the table found in textbooks. */
static void published_table(void **state)
{
	static const size_t critical[][2] = {{4, 0},  {5, 2},	{6, 5},	  {7, 8},   {8, 13},
					     {9, 17}, {10, 23}, {12, 37}, {15, 64}, {20, 127}};

	for (size_t i = 0; i < sizeof(critical) / sizeof(critical[0]); i++) {
		assert_true(p_of(critical[i][0], critical[i][1]) <= LEVEL);
		assert_true(p_of(critical[i][0], critical[i][1] + 1) > LEVEL);
	}
	assert_true(fabs(ranks_least_p(4, 4) - 2.0 / 70) < 1e-12);
	assert_true(fabs(ranks_least_p(3, 3) - 0.1) < 1e-12);
	assert_true(fabs(ranks_least_p(5, 3) - 2.0 / 56) < 1e-12);
	assert_true(ranks_least_p(1, 1) == 1);
}

/* With 4 and 4 runs the interval spans all 16 differences; with 10 and 10 it begins at the 24th. */
static void interval_of_the_shift(void **state)
{
	static const double a[4] = {10, 11, 12, 13}, b[4] = {20, 22, 24, 26};
	double x[10], y[10], detectable;
	struct ranks r;

	assert_int_equal(ranks_test(a, 4, b, 4, &r), 0);
	assert_true(r.bounded && r.low == 20 - 13 && r.high == 26 - 10);
	assert_int_equal(ranks_test(a, 3, b, 3, &r), 0);
	assert_false(r.bounded);
	assert_int_equal(ranks_detectable(a, 3, b, 3, LEVEL, &detectable), 0);
	assert_true(isnan(detectable));
	/* 4 and 4 have 2 of 70 ways at least. */
	assert_int_equal(ranks_detectable(a, 4, b, 4, 2.0 / 70 - 1e-9, &detectable), 0);
	assert_true(isnan(detectable));
	assert_int_equal(ranks_detectable(a, 4, b, 4, 2.0 / 70 + 1e-9, &detectable), 0);
	assert_false(isnan(detectable));
	/* 24 differences of 0 to 9 and 0.5 to 9.5 are at most -4.5 + ..., counted by hand below. */
	for (int i = 0; i < 10; i++) {
		x[i] = i;
		y[i] = i + 0.5;
	}
	assert_int_equal(ranks_test(x, 10, y, 10, &r), 0);
	/* 1 difference of -8.5, 2 of -7.5, ... 6 of -3.5 make 21; the 24th is among the 7 of
	 * -2.5. */
	assert_true(r.low == -2.5 && r.high == 3.5);
}

static double value(uint64_t *seed, bool skewed)
{
	double v = normal(seed);

	return skewed ? exp(v) : v;
}

/* How often p is at most level, and how often the interval contains the shift. */
static void simulate(size_t nr, bool skewed, double shift, double level, double *ret_found,
		     double *ret_inside)
{
	enum { ROUNDS = 4000 };
	uint64_t seed = nr;
	int found = 0;
	int inside = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double a[RANKS_MAX], b[RANKS_MAX];
		struct ranks r;

		for (size_t k = 0; k < nr; k++) {
			a[k] = value(&seed, skewed);
			b[k] = value(&seed, skewed) + shift;
		}
		assert_int_equal(ranks_test(a, nr, b, nr, &r), 0);
		found += r.p <= level;
		inside += r.bounded && r.low <= shift && shift <= r.high;
	}
	*ret_found = (double)found / ROUNDS;
	*ret_inside = (double)inside / ROUNDS;
}

/* Equal groups are called different in at most 5 of 100 cases, for any distribution (plus 0.6 %,
 * three standard errors of 4,000 rounds). */
static void false_alarms(void **state)
{
	static const size_t sizes[] = {3, 4, 5, 8, 12};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int skewed = 0; skewed < 2; skewed++) {
			double found, inside;

			simulate(sizes[i], skewed, 0, LEVEL, &found, &inside);
			print_message("%zu runs a side, %s: %.1f %% false alarms\n", sizes[i],
				      skewed ? "skewed" : "normal", 100 * found);
			assert_true(found <= LEVEL + 0.0104);
			assert_true(sizes[i] > 3 || found == 0);
			if (sizes[i] > 3)
				assert_true(inside >= 1 - LEVEL - 0.0104);
		}
}

/* Values with a spread of 1, shifted by what is called detectable, at the level of a single test
 * and at the level of one of several tests. */
static void detectable(void **state)
{
	static const size_t sizes[] = {4, 5, 6, 8, 12, 20, 7, 12};
	static const double a[2] = {-1, 1};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double level = i < 6 ? LEVEL : 0.02 / 7;
		double x[RANKS_MAX], found, inside, spread, shift;
		size_t nr = sizes[i];

		for (size_t k = 0; k < nr; k++)
			x[k] = a[k % 2] + (nr % 2 && k == nr - 1 ? 1 : 0);
		spread = sqrt((double)(nr / 2 * 2) / (double)(nr - 1));
		assert_int_equal(ranks_detectable(x, nr, x, nr, level, &shift), 0);
		simulate(nr, false, shift / spread, level, &found, &inside);
		print_message("%zu runs a side: %.2f spreads are found in %.1f %%\n", nr,
			      shift / spread, 100 * found);
		assert_true(found > (i < 6 ? 0.74 : 0.72) && found < 0.83);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split),
		cmocka_unit_test(published_table),
		cmocka_unit_test(interval_of_the_shift),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(detectable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
