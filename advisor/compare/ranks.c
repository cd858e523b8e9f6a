/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/compare/cells.h"
#include "advisor/stats/stats.h"

#define LEVEL 0.05
#define POWER 0.8
/* The test needs pi / 3 times as many normal values as Student's t. */
#define EFFICIENCY (3 / M_PI)

enum { BOTH_MAX = 2 * RANKS_MAX };

/* Counts the subsets of nr of these doubled ranks for each sum. NULL: no memory. */
static double *count_sums(const size_t *doubled, size_t nr, size_t of, size_t top)
{
	double *ways = calloc((of + 1) * (top + 1), sizeof(*ways));

	if (!ways)
		return NULL;
	ways[0] = 1;
	for (size_t i = 0; i < nr; i++)
		for (size_t k = i + 1 < of ? i + 1 : of; k > 0; k--)
			for (size_t sum = top; sum >= doubled[i]; sum--)
				ways[k * (top + 1) + sum] +=
					ways[(k - 1) * (top + 1) + sum - doubled[i]];
	return ways;
}

/* The share of all subsets whose sum is at least this far from the middle. */
static double share_beyond(const double *ways, size_t top, double middle, double distance)
{
	double all = 0;
	double beyond = 0;

	for (size_t sum = 0; sum <= top; sum++) {
		all += ways[sum];
		if (fabs((double)sum - middle) >= distance)
			beyond += ways[sum];
	}
	return beyond / all;
}

/* For values without ties: how many differences lie outside the interval on either side, and the
 * largest p that is at most level. */
static size_t differences_outside(const double *ways, size_t top, size_t least, double level,
				  double *ret_level)
{
	double all = 0;
	double below = 0;
	size_t outside = 0;

	for (size_t sum = 0; sum <= top; sum++)
		all += ways[sum];
	for (size_t sum = least; sum <= top && below + ways[sum] <= level / 2 * all; sum += 2) {
		below += ways[sum];
		outside++;
	}
	*ret_level = 2 * below / all;
	return outside;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

/* The shift: the differences between the groups that the test does not reject. */
static void find_interval(const double *a, size_t nr_a, const double *b, size_t nr_b,
			  size_t outside, struct ranks *ret)
{
	double differences[RANKS_MAX * RANKS_MAX] = {0};
	size_t nr = 0;

	for (size_t i = 0; i < nr_a; i++)
		for (size_t k = 0; k < nr_b; k++)
			differences[nr++] = b[k] - a[i];
	qsort(differences, nr, sizeof(*differences), by_size);
	ret->bounded = outside > 0;
	if (!ret->bounded)
		return;
	ret->low = differences[outside - 1];
	ret->high = differences[nr - outside];
}

/* level: of this test; 0: it never rejects. */
static double detectable_shift(const double *a, size_t nr_a, const double *b, size_t nr_b,
			       double level)
{
	double degrees = (double)(nr_a + nr_b) - 2;
	double spread_a = cells_spread(a, nr_a);
	double spread_b = cells_spread(b, nr_b);
	double variance;

	if (!(level > 0))
		return NAN;
	variance = (spread_a * spread_a * (double)(nr_a - 1) +
		    spread_b * spread_b * (double)(nr_b - 1)) /
		   degrees;
	return (stats_student_quantile(1 - level / 2, degrees) +
		stats_student_quantile(POWER, degrees)) *
	       sqrt(variance / EFFICIENCY * (1 / (double)nr_a + 1 / (double)nr_b));
}

double ranks_least_p(size_t nr_a, size_t nr_b)
{
	double splits = 1;

	for (size_t i = 1; i <= nr_a; i++)
		splits = splits * (double)(nr_b + i) / (double)i;
	return fmin(2 / splits, 1);
}

int ranks_test(const double *a, size_t nr_a, const double *b, size_t nr_b, struct ranks *ret)
{
	double values[BOTH_MAX] = {0};
	double ranks[BOTH_MAX] = {0};
	const double *work[BOTH_MAX];
	size_t doubled[BOTH_MAX];
	size_t plain[BOTH_MAX];
	size_t nr = nr_a + nr_b;
	size_t top = nr * (nr + 1);
	double middle = (double)(nr_a * (nr + 1));
	double *ways, *untied;
	double level;
	size_t outside;
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		values[i] = i < nr_a ? a[i] : b[i - nr_a];
	stats_ranks(values, nr, work, ranks);
	for (size_t i = 0; i < nr; i++) {
		doubled[i] = (size_t)llround(2 * ranks[i]);
		plain[i] = 2 * (i + 1);
		sum += i < nr_a ? (double)doubled[i] : 0;
	}
	ways = count_sums(doubled, nr, nr_a, top);
	untied = count_sums(plain, nr, nr_a, top);
	if (ways && untied) {
		outside = differences_outside(untied + nr_a * (top + 1), top, nr_a * (nr_a + 1),
					      LEVEL, &level);
		*ret = (struct ranks){.u = (double)(nr_a * nr_b) -
					   (sum - (double)(nr_a * (nr_a + 1))) / 2,
				      .p = share_beyond(ways + nr_a * (top + 1), top, middle,
							fabs(sum - middle))};
		find_interval(a, nr_a, b, nr_b, outside, ret);
	}
	free(ways);
	free(untied);
	return ways && untied ? 0 : -ENOMEM;
}

int ranks_detectable(const double *a, size_t nr_a, const double *b, size_t nr_b, double level,
		     double *ret)
{
	size_t doubled[BOTH_MAX];
	size_t nr = nr_a + nr_b;
	size_t top = nr * (nr + 1);
	double attained;
	double *ways;

	for (size_t i = 0; i < nr; i++)
		doubled[i] = 2 * (i + 1);
	ways = count_sums(doubled, nr, nr_a, top);
	if (!ways)
		return -ENOMEM;
	differences_outside(ways + nr_a * (top + 1), top, nr_a * (nr_a + 1), level, &attained);
	*ret = detectable_shift(a, nr_a, b, nr_b, attained);
	free(ways);
	return 0;
}
