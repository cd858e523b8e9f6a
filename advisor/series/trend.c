/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/trend.h"

#include <math.h>
#include <stdlib.h>

#include "advisor/series/stats.h"

enum { PAIRS_MAX = TREND_MAX * (TREND_MAX - 1) / 2 };

/* P(|S| >= |s|) of nr values in any order: how many of their pairs are in order less how many are
 * not. The distribution of the number of inversions, one value after the other. */
static double exact_in(double *p, size_t nr, long s)
{
	double *next = p + PAIRS_MAX + 1;
	size_t pairs = 0;
	double sum = 0;

	p[0] = 1;
	for (size_t n = 2; n <= nr; n++) {
		double window = 0;

		pairs += n - 1;
		for (size_t k = 0; k <= pairs; k++) {
			window += k <= pairs - (n - 1) ? p[k] : 0;
			window -= k >= n ? p[k - n] : 0;
			next[k] = window / (double)n;
		}
		for (size_t k = 0; k <= pairs; k++)
			p[k] = next[k];
	}
	for (size_t k = 0; k <= pairs; k++)
		if (labs((long)pairs - 2 * (long)k) >= labs(s))
			sum += p[k];
	return fmin(sum, 1);
}

static double exact(size_t nr, long s)
{
	double *p = calloc(2 * (PAIRS_MAX + 1), sizeof(*p));
	/* Without memory no trend is shown. */
	double probability = p ? exact_in(p, nr, s) : 1;

	free(p);
	return probability;
}

/* Of values some of which are equal: by a normal one, with the variance of so many ties. */
static double about(const double *x, size_t nr, long s)
{
	double n = (double)nr;
	double variance = n * (n - 1) * (2 * n + 5);

	for (size_t i = 0; i < nr; i++) {
		double equal = 0;

		for (size_t k = 0; k < nr; k++)
			equal += x[k] == x[i];
		/* Each group is met once for each of its members. */
		variance -= (equal - 1) * (2 * equal + 5);
	}
	if (!(variance > 0))
		return 1;
	return stats_normal_two_sided((double)labs(s) / sqrt(variance / 18));
}

static struct trend trend_in(double *slopes, const double *x, size_t nr)
{
	struct trend ret = {.p = 1};
	size_t pairs = 0;
	size_t ties = 0;
	long s = 0;

	if (nr > TREND_MAX) {
		x += nr - TREND_MAX;
		nr = TREND_MAX;
	}
	for (size_t i = 0; i < nr; i++) {
		for (size_t k = i + 1; k < nr; k++) {
			slopes[pairs++] = (x[k] - x[i]) / (double)(k - i);
			s += (x[k] > x[i]) - (x[k] < x[i]);
			ties += x[k] == x[i];
		}
	}
	if (!pairs)
		return ret;
	ret.slope = stats_median(slopes, pairs);
	if (ties < pairs)
		ret.tau = (double)s / sqrt((double)(pairs - ties) * (double)pairs);
	ret.p = ties ? about(x, nr, s) : exact(nr, s);
	return ret;
}

struct trend trend_of(const double *x, size_t nr)
{
	double *slopes = calloc(PAIRS_MAX, sizeof(*slopes));
	struct trend ret = {.p = 1};

	if (slopes)
		ret = trend_in(slopes, x, nr);
	free(slopes);
	return ret;
}
