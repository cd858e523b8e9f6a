/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/stats/alike.h"

#include <math.h>

/* Autocorrelation is known with an error: it is taken for higher than it looks. */
#define TIME_MARGIN 1.3
#define LAG_MAX	    0.995

double alike_lagged(const double *r, size_t nr, size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < nr; i++)
		sum += r[i] * r[i + lag];
	return sum / (double)(nr - lag);
}

/*
 * How many cells one independent value is spread over: 1 + 2 x the sum of the autocorrelations, as
 * long as pairs of them stay positive and fall (Geyer's initial monotone sequence). fitted: means
 * that were taken out, each of which lowers every autocorrelation by 1 / nr.
 */
static double correlation_time(const double *r, size_t nr, size_t fitted)
{
	double variance = alike_lagged(r, nr, 0);
	double lift = (double)fitted / (double)nr;
	double time = 1;
	double last = INFINITY;
	double left;

	for (size_t lag = 1; lag + 1 < nr / 2; lag += 2) {
		double first = alike_lagged(r, nr, lag) / variance + lift;
		double second = alike_lagged(r, nr, lag + 1) / variance + lift;
		double pair = lag == 1 && second < 0 ? first : first + second;

		if (pair <= 0)
			break;
		last = fmin(last, pair);
		time += 2 * last;
	}
	left = fmax(1 - (double)fitted * time / (double)nr, 0.2);
	return TIME_MARGIN * fmax(time, 1) / left;
}

double alike_phi(const double *r, size_t nr, size_t fitted, double margin)
{
	double rho =
		alike_lagged(r, nr, 1) * (double)(nr - 1) / (alike_lagged(r, nr, 0) * (double)nr);
	double phi = rho + (double)fitted * (1 + 3 * rho) / (double)nr +
		     margin * sqrt((1 - rho * rho) / (double)nr);
	double time = correlation_time(r, nr, fitted);

	phi = fmin(fmax(phi, 0), LAG_MAX);
	return fmax(phi, (time - 1) / (time + 1));
}
