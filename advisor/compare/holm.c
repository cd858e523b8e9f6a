/* SPDX-License-Identifier: BSD-2-Clause */
#include "compare/holm.h"

#include <math.h>

/* Nothing here is larger than a handful of metrics: the quadratic way needs no memory. */
static size_t rank_of(const double *p, size_t nr, size_t of)
{
	size_t rank = 0;

	for (size_t i = 0; i < nr; i++)
		if (!isnan(p[i]) && (p[i] < p[of] || (p[i] == p[of] && i < of)))
			rank++;
	return rank;
}

void holm_adjust(double *p, size_t nr)
{
	size_t tests = 0;
	size_t order[nr ? nr : 1];
	double floor = 0;

	for (size_t i = 0; i < nr; i++)
		tests += !isnan(p[i]);
	for (size_t i = 0; i < nr; i++)
		if (!isnan(p[i]))
			order[rank_of(p, nr, i)] = i;
	for (size_t rank = 0; rank < tests; rank++) {
		double raised = p[order[rank]] * (double)(tests - rank);

		floor = fmin(fmax(floor, raised), 1);
		p[order[rank]] = floor;
	}
}
