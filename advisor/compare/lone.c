/* SPDX-License-Identifier: BSD-2-Clause */
#include "compare/lone.h"

#include <math.h>

#include "compare/cells.h"

static double mean_of(const double *x, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += x[i];
	return sum / (double)nr;
}

static double deviation(const double *x, size_t nr)
{
	double mean = mean_of(x, nr);
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return nr > 1 ? sqrt(sum / (double)(nr - 1)) : 0;
}

/* The error of the difference, and its degrees of freedom by Welch and Satterthwaite. */
static void add_error(struct paired *t, double short_error, double short_degrees)
{
	double one = t->error * t->error;
	double other = one;
	double degrees = t->degrees;

	if (short_error > t->error) {
		other = short_error * short_error;
		degrees = (one + other) * (one + other) /
			  (one * one / t->degrees + other * other / short_degrees);
	}
	t->error = sqrt(one + other);
	t->degrees = degrees;
}

struct paired lone_test(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	static const double none[CELLS_MAX];
	const double *longer = nr_a < nr_b ? b : a;
	const double *shorter = nr_a < nr_b ? a : b;
	size_t nr = nr_a < nr_b ? nr_b : nr_a;
	size_t few = nr_a < nr_b ? nr_a : nr_b;
	double worth;
	struct paired t = {.why = PAIRED_TOO_FEW};

	if (few < LONE_CELLS_MIN || nr > CELLS_MAX)
		return t;
	t = paired_test(none, longer, nr);
	t.difference = mean_of(b, nr_b) - mean_of(a, nr_a);
	t.spread_a = deviation(a, nr_a);
	t.spread_b = deviation(b, nr_b);
	if (t.why == PAIRED_TESTED && !(t.error > 0))
		t.why = PAIRED_TOO_ALIKE;
	if (t.why != PAIRED_TESTED)
		return t;
	worth = fmin((double)few / LONE_ALIKE, LONE_WORTH);
	add_error(&t, deviation(shorter, few) / sqrt(worth), (double)few - 1);
	paired_conclude(&t);
	return t;
}
