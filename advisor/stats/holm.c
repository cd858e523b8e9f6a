/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/stats/holm.h"

#include <math.h>
#include <stdbool.h>

/* The least that is left, or nr. There is never more than a handful: no need to sort. */
static size_t least(const double *p, const bool *done, size_t nr)
{
	size_t at = nr;

	for (size_t i = 0; i < nr; i++)
		if (!done[i] && !isnan(p[i]) && (at == nr || p[i] < p[at]))
			at = i;
	return at;
}

void holm_adjust(double *p, size_t nr)
{
	bool done[nr + 1];
	size_t tests = 0;
	double floor = 0;

	for (size_t i = 0; i < nr; i++) {
		done[i] = false;
		tests += !isnan(p[i]);
	}
	for (; tests > 0; tests--) {
		size_t at = least(p, done, nr);

		floor = fmin(fmax(floor, p[at] * (double)tests), 1);
		p[at] = floor;
		done[at] = true;
	}
}
