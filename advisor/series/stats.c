/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = **(const double *const *)a;
	double y = **(const double *const *)b;

	return (x > y) - (x < y);
}

void stats_ranks(const double *x, size_t nr, const double **work, double *ret)
{
	for (size_t i = 0; i < nr; i++)
		work[i] = &x[i];
	qsort(work, nr, sizeof(*work), by_value);
	for (size_t i = 0, j; i < nr; i = j) {
		for (j = i + 1; j < nr && *work[j] == *work[i]; j++)
			;
		for (size_t k = i; k < j; k++)
			ret[work[k] - x] = (double)(i + j + 1) / 2;
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_median(double *x, size_t nr)
{
	if (!nr)
		return 0;
	qsort(x, nr, sizeof(*x), by_size);
	return nr % 2 ? x[nr / 2] : (x[nr / 2 - 1] + x[nr / 2]) / 2;
}

void stats_spread(const double *x, size_t nr, double *work, double *ret_median, double *ret_mad)
{
	double median;

	for (size_t i = 0; i < nr; i++)
		work[i] = x[i];
	median = stats_median(work, nr);
	for (size_t i = 0; i < nr; i++)
		work[i] = fabs(x[i] - median);
	*ret_mad = stats_median(work, nr);
	*ret_median = median;
}

double stats_normal_two_sided(double z)
{
	return erfc(fabs(z) / M_SQRT2);
}

double stats_normal_z(double p)
{
	double low = 0;
	double high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (stats_normal_two_sided(middle) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double stats_log(double x, double least)
{
	return least > 0 ? copysign(log1p(fabs(x) / least), x) : x;
}

double stats_exp(double y, double least)
{
	return least > 0 ? copysign(expm1(fabs(y)) * least, y) : y;
}
