/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/lone.h"

#include <math.h>
#include <stdbool.h>

#include "advisor/compare/cells.h"

/* The error of the difference, and its degrees of freedom by Welch and Satterthwaite. */
static void add_error(struct paired *t, double work, double spread, size_t few)
{
	double worth = fmin((double)few / LONE_ALIKE, LONE_WORTH);
	double seen = spread * spread / worth;
	double one = t->error * t->error;
	double other = one * fmax(work, 1);

	if (seen > other) {
		other = seen;
		t->degrees = (one + other) * (one + other) /
			     (one * one / t->degrees + other * other / (double)(few - 1));
	}
	t->error = sqrt(one + other);
}

/* The long run by itself; the short one, stretched to it, tells where both begin. */
static struct paired alone(const double *x, size_t nr, const double *few, size_t nr_few,
			   bool same_shares)
{
	double other[CELLS_MAX];
	bool stretch = same_shares && nr <= CELLS_MAX;

	for (size_t i = 0; stretch && i < nr; i++)
		other[i] = few[i * nr_few / nr];
	return paired_alone(x, nr, stretch ? other : NULL);
}

struct paired lone_test(const double *a, size_t nr_a, const double *b, size_t nr_b, double work,
			bool same_shares)
{
	bool a_longer = nr_a >= nr_b;
	size_t few = a_longer ? nr_b : nr_a;
	struct paired t = {.why = PAIRED_TOO_FEW};

	if (few >= LONE_CELLS_MIN && work <= LONE_WORK_MAX)
		t = a_longer ? alone(a, nr_a, b, nr_b, same_shares)
			     : alone(b, nr_b, a, nr_a, same_shares);
	t.difference = few ? cells_mean(b, nr_b) - cells_mean(a, nr_a) : 0;
	t.spread_a = cells_spread(a, nr_a);
	t.spread_b = cells_spread(b, nr_b);
	if (t.why != PAIRED_TESTED)
		return t;
	add_error(&t, work, a_longer ? t.spread_b : t.spread_a, few);
	paired_conclude(&t);
	return t;
}
