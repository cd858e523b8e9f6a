/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/stats/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/order.h"

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

double stats_median(double *x, size_t nr)
{
	if (!nr)
		return 0;
	qsort(x, nr, sizeof(*x), order_f64);
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

enum { STEPS_MAX = 500 };

/* lgamma() writes a global of the C library; this one does not. Lanczos, g = 7, nine terms. */
static double log_gamma(double x)
{
	static const double c[] = {
		0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
		771.32342877765313,   -176.61502916214059,   12.507343278686905,
		-0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
	};
	double sum = c[0];
	double t;

	x -= 1;
	t = x + 7.5;
	for (int i = 1; i < 9; i++)
		sum += c[i] / (x + i);
	return 0.5 * log(2 * M_PI) + (x + 0.5) * log(t) - t + log(sum);
}

static double away_from_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
	double h = d;

	for (int i = 1; i <= STEPS_MAX; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
		double step;

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		h *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return h;
}

/* The regularized incomplete beta function. */
static double beta_share(double x, double a, double b)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double stats_student_two_sided(double t, double df)
{
	if (isinf(t))
		return 0;
	return beta_share(df / (df + t * t), df / 2, 0.5);
}

double stats_student_quantile(double p, double df)
{
	double tail = p < 0.5 ? 2 * p : 2 * (1 - p);
	double low = 0;
	double high = 1;

	while (stats_student_two_sided(high, df) > tail && high < 1e15)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = low + (high - low) / 2;

		if (stats_student_two_sided(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	return p < 0.5 ? -high : high;
}

/* The estimated autocorrelation has an error, so a larger one is used. */
#define TIME_MARGIN 1.3
#define LAG_MAX	    0.995

double stats_lagged(const double *r, size_t nr, size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < nr; i++)
		sum += r[i] * r[i + lag];
	return sum / (double)(nr - lag);
}

/*
 * The number of cells per independent value: 1 + 2 x the sum of the autocorrelations, as long as
 * pairs of them stay positive and decrease (Geyer's initial monotone sequence). fitted: number of
 * subtracted means, each of which lowers every autocorrelation by 1 / nr.
 */
static double correlation_time(const double *r, size_t nr, size_t fitted)
{
	double variance = stats_lagged(r, nr, 0);
	double lift = (double)fitted / (double)nr;
	double time = 1;
	double last = INFINITY;
	double left;

	for (size_t lag = 1; lag + 1 < nr / 2; lag += 2) {
		double first = stats_lagged(r, nr, lag) / variance + lift;
		double second = stats_lagged(r, nr, lag + 1) / variance + lift;
		double pair = lag == 1 && second < 0 ? first : first + second;

		if (pair <= 0)
			break;
		last = fmin(last, pair);
		time += 2 * last;
	}
	left = fmax(1 - (double)fitted * time / (double)nr, 0.2);
	return TIME_MARGIN * fmax(time, 1) / left;
}

double stats_phi(const double *r, size_t nr, size_t fitted, double margin)
{
	double rho =
		stats_lagged(r, nr, 1) * (double)(nr - 1) / (stats_lagged(r, nr, 0) * (double)nr);
	double phi = rho + (double)fitted * (1 + 3 * rho) / (double)nr +
		     margin * sqrt((1 - rho * rho) / (double)nr);
	double time = correlation_time(r, nr, fitted);

	phi = fmin(fmax(phi, 0), LAG_MAX);
	return fmax(phi, (time - 1) / (time + 1));
}

/* Index of the smallest remaining value, or nr. There are few values: no need to sort. */
static size_t least_of(const double *p, const bool *done, size_t nr)
{
	size_t at = nr;

	for (size_t i = 0; i < nr; i++)
		if (!done[i] && !isnan(p[i]) && (at == nr || p[i] < p[at]))
			at = i;
	return at;
}

void stats_holm(double *p, size_t nr)
{
	bool done[nr + 1];
	size_t tests = 0;
	double floor = 0;

	for (size_t i = 0; i < nr; i++) {
		done[i] = false;
		tests += !isnan(p[i]);
	}
	for (; tests > 0; tests--) {
		size_t at = least_of(p, done, nr);

		floor = fmin(fmax(floor, p[at] * (double)tests), 1);
		p[at] = floor;
		done[at] = true;
	}
}

double stats_holm_level(const double *p, size_t nr, size_t at, double level)
{
	double adjusted[nr + 1];
	size_t left = 1;

	memcpy(adjusted, p, nr * sizeof(*p));
	adjusted[at] = 1;
	stats_holm(adjusted, nr);
	/* Tests that are significant without this one are judged before it. */
	for (size_t i = 0; i < nr; i++)
		left += i != at && adjusted[i] > level;
	return level / (double)left;
}

enum { STEPS = 200 };

static double density(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* Below it the formulas are invalid; the probability is large. */
#define Z_LEAST 1.5
/* Above it the result underflows. */
#define Z_MOST 38.0

/* The supremum of a standardised Brownian bridge: Csorgo and Horvath, Limit Theorems in
 * Change-Point Analysis (1997). */
double stats_tail_split(double z, double share)
{
	double length = 2 * log((1 - share) / share);

	if (!(z >= Z_LEAST))
		return 1;
	if (z > Z_MOST)
		return 0;
	return fmin(z * density(z) * (length * (1 - 1 / (z * z)) + 4 / (z * z)), 1);
}

/* The overshoot of a walk with discrete steps: Siegmund, Sequential Analysis (1985). */
static double overshoot(double x)
{
	return exp(-0.583 * x);
}

/* Siegmund, Tail approximations for maxima of random fields (1992), as for circular binary
 * segmentation: Olshen, Venkatraman and others (2004). */
double stats_tail_arc(double z, double worth, double share)
{
	double sum = 0;

	if (!(z >= Z_LEAST))
		return 1;
	if (z > Z_MOST)
		return 0;
	/* Even steps of log(t / (1 - t)), because the density is largest at both ends. */
	for (int i = 0; i < STEPS; i++) {
		double end = log((1 - share) / share);
		double u = -end + 2 * end * (i + 0.5) / STEPS;
		double t = 1 / (1 + exp(-u));
		double nu = overshoot(z / sqrt(worth * t * (1 - t)));

		sum += nu * nu / t * (2 * end / STEPS);
	}
	return fmin(z * z * z * density(z) / 2 * sum, 1);
}
