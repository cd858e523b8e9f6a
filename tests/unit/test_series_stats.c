/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access m */
/* Rank statistics, compared with SciPy's and with results counted by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures/chance.h"
#include "fixtures/series/scipy.h"
#include "advisor/series/history.h"
#include "advisor/series/link.h"
#include "advisor/stats/stats.h"

enum { NR = sizeof(of_scipy) / sizeof(of_scipy[0]), MOST = 40 };

static void near(double got, double want, double by)
{
	if (!(fabs(got - want) <= by))
		fail_msg("%.12g, not %.12g", got, want);
}

static void ranks_are_spearmans(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR; i++) {
		size_t nr = (size_t)of_scipy[i].nr;
		const double *order[MOST];
		double x[MOST], y[MOST];
		double xy = 0, xx = 0, yy = 0;

		stats_ranks(of_scipy[i].x, nr, order, x);
		stats_ranks(of_scipy[i].y, nr, order, y);
		for (size_t k = 0; k < nr; k++) {
			double middle = (double)(nr + 1) / 2;

			xy += (x[k] - middle) * (y[k] - middle);
			xx += (x[k] - middle) * (x[k] - middle);
			yy += (y[k] - middle) * (y[k] - middle);
		}
		near(xy / sqrt(xx * yy), of_scipy[i].spearman, 1e-12);
	}
}

static void middles(void **state)
{
	double none[1];

	(void)state;
	assert_true(stats_median(none, 0) == 0);
	for (size_t i = 0; i < NR; i++) {
		double work[MOST];
		double median, mad;

		stats_spread(of_scipy[i].x, (size_t)of_scipy[i].nr, work, &median, &mad);
		near(median, of_scipy[i].median, 1e-12);
		near(mad, of_scipy[i].mad, 1e-12);
	}
}

static void trends(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR; i++) {
		struct trend t = history_trend(of_scipy[i].x, (size_t)of_scipy[i].nr);

		near(t.slope, of_scipy[i].slope, 1e-12);
		near(t.tau, of_scipy[i].tau, 1e-12);
		near(t.p, of_scipy[i].p, 1e-9);
	}
}

/* One of the 24 orders of four values rises throughout, and one falls. */
static void a_trend_by_hand(void **state)
{
	const double up[] = {1, 2, 4, 8};
	const double same[] = {3, 3, 3};
	struct trend t = history_trend(up, 4);

	(void)state;
	near(t.p, 2.0 / 24, 1e-15);
	near(t.tau, 1, 1e-15);
	near(t.slope, (2 + 7.0 / 3) / 2, 1e-12); /* of 1, 3/2, 7/3, 2, 3, 4 */
	t = history_trend(same, 3);
	near(t.p, 1, 0);
	near(t.slope, 0, 0);
	assert_true(history_trend(up, 1).p == 1 && history_trend(up, 0).p == 1);
}

/* The last values count, and nothing is written beyond the end. */
static void a_long_trend(void **state)
{
	double x[TREND_MAX + 10];

	(void)state;
	for (int i = 0; i < TREND_MAX + 10; i++)
		x[i] = i < 10 ? 1000 : i;
	near(history_trend(x, TREND_MAX + 10).tau, 1, 1e-15);
	near(history_trend(x, TREND_MAX + 10).slope, 1, 1e-15);
}

static void normal_tails(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(normal_of_scipy) / sizeof(normal_of_scipy[0]); i++) {
		double p = normal_of_scipy[i].p;

		near(stats_normal_two_sided(normal_of_scipy[i].z), p, 1e-12 * p);
		near(stats_normal_z(p), normal_of_scipy[i].z, 1e-6);
	}
}

static void logarithms(void **state)
{
	(void)state;
	near(stats_log(100, 100), log(2), 1e-15);
	near(stats_log(-100, 100), -log(2), 1e-15);
	near(stats_exp(stats_log(-12345, 100), 100), -12345, 1e-8);
	near(stats_log(7, 0), 7, 0);
}

/* The maximum over all places and over all segments, in noise: as often as the formulas say. */
static void tails_against_chance(void **state)
{
	enum { TRIALS = 4000, LONG = 100, LEAST = 5 };
	uint64_t seed = 11;
	int splits = 0, arcs = 0;

	(void)state;
	for (int t = 0; t < TRIALS; t++) {
		double sum[LONG + 1] = {0};
		double split = 0, arc = 0;

		for (int i = 0; i < LONG; i++)
			sum[i + 1] = sum[i] + normal(&seed);
		for (int i = 0; i < LONG; i++) {
			for (int j = i + LEAST; j <= LONG && j - i <= LONG - LEAST; j++) {
				double m = j - i;
				double z = fabs(sum[j] - sum[i] - m * sum[LONG] / LONG) /
					   sqrt(m * (LONG - m) / LONG);

				arc = fmax(arc, z);
				if (!i)
					split = fmax(split, z);
			}
		}
		splits += stats_tail_split(split, (double)LEAST / LONG) <= 0.05;
		arcs += stats_tail_arc(arc, LONG, (double)LEAST / LONG) <= 0.05;
	}
	printf("p <= 0.05 of noise: %.2f %% of splits, %.2f %% of stretches\n",
	       100.0 * splits / TRIALS, 100.0 * arcs / TRIALS);
	/* The maximum of a walk in discrete steps is a little smaller than that of a continuous
	 * one. */
	near((double)splits / TRIALS, 0.0375, 0.015);
	near((double)arcs / TRIALS, 0.0475, 0.015);
	assert_true(stats_tail_split(0, 0.05) == 1 && stats_tail_arc(0, 100, 0.05) == 1);
	assert_true(stats_tail_split(INFINITY, 0.05) == 0 &&
		    stats_tail_arc(INFINITY, 100, 0.05) == 0);
}

/* Without the part that the past of each series explains, the correlation equals SciPy's. */
static void links_by_scipy(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR; i++) {
		size_t nr = (size_t)of_scipy[i].nr;
		double ranks[2][MOST];
		bool known[2][MOST];
		struct link_series a = {.rank = ranks[0], .known = known[0]};
		struct link_series b = {.rank = ranks[1], .known = known[1]};
		double ab = 0, aa = 0, bb = 0;

		if (of_scipy[i].left_rho == 0)
			continue;
		assert_int_equal(link_prepare(of_scipy[i].x, nr, &nr, 1, &a), 0);
		assert_int_equal(link_prepare(of_scipy[i].y, nr, &nr, 1, &b), 0);
		for (size_t k = 0; k < nr; k++) {
			ab += a.rank[k] * b.rank[k];
			aa += a.rank[k] * a.rank[k];
			bb += b.rank[k] * b.rank[k];
		}
		near(ab / sqrt(aa * bb), of_scipy[i].left_rho, 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_spearmans),
		cmocka_unit_test(middles),
		cmocka_unit_test(trends),
		cmocka_unit_test(a_trend_by_hand),
		cmocka_unit_test(a_long_trend),
		cmocka_unit_test(normal_tails),
		cmocka_unit_test(logarithms),
		cmocka_unit_test(tails_against_chance),
		cmocka_unit_test(links_by_scipy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
