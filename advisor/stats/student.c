/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/stats/student.h"

#include <math.h>

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

double student_two_sided(double t, double df)
{
	if (isinf(t))
		return 0;
	return beta_share(df / (df + t * t), df / 2, 0.5);
}

double student_quantile(double p, double df)
{
	double tail = p < 0.5 ? 2 * p : 2 * (1 - p);
	double low = 0;
	double high = 1;

	while (student_two_sided(high, df) > tail && high < 1e15)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = low + (high - low) / 2;

		if (student_two_sided(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	return p < 0.5 ? -high : high;
}
