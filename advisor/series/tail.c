/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/tail.h"

#include <math.h>

enum { STEPS = 200 };

static double density(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* Below it the formulas mean nothing; the probability is large. */
#define Z_LEAST 1.5
/* Above it there is no number that small. */
#define Z_MOST 38.0

/* The supremum of a standardised Brownian bridge: Csorgo and Horvath, Limit Theorems in
 * Change-Point Analysis (1997). */
double tail_split(double z, double share)
{
	double length = 2 * log((1 - share) / share);

	if (!(z >= Z_LEAST))
		return 1;
	if (z > Z_MOST)
		return 0;
	return fmin(z * density(z) * (length * (1 - 1 / (z * z)) + 4 / (z * z)), 1);
}

/* What a walk in steps overshoots by: Siegmund, Sequential Analysis (1985). */
static double overshoot(double x)
{
	return exp(-0.583 * x);
}

/* Siegmund, Tail approximations for maxima of random fields (1992), as for circular binary
 * segmentation: Olshen, Venkatraman and others (2004). */
double tail_arc(double z, double worth, double share)
{
	double sum = 0;

	if (!(z >= Z_LEAST))
		return 1;
	if (z > Z_MOST)
		return 0;
	/* Even steps of log(t / (1 - t)), as the density is largest at both ends. */
	for (int i = 0; i < STEPS; i++) {
		double end = log((1 - share) / share);
		double u = -end + 2 * end * (i + 0.5) / STEPS;
		double t = 1 / (1 + exp(-u));
		double nu = overshoot(z / sqrt(worth * t * (1 - t)));

		sum += nu * nu / t * (2 * end / STEPS);
	}
	return fmin(z * z * z * density(z) / 2 * sum, 1);
}
