/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two runs on one scale: each run is cut into as many cells of equal work, so that cell k of one
 * stands for the same part of the job as cell k of the other, whatever time it took. Owns the
 * cutting; an interval that lies in several cells is shared out by its work.
 */
#ifndef COMPARE_CELLS_H
#define COMPARE_CELLS_H

#include <stddef.h>

enum { CELLS_MAX = 400 };

/* One figure of a run, interval by interval: num / den, and how much of the work was done. */
struct compare_series {
	const double *num;
	const double *den;
	const double *work;
	size_t nr;
};

/* As many cells as the run with fewer intervals has, at most CELLS_MAX. */
size_t cells_number(size_t intervals_a, size_t intervals_b);

/*
 * The value of each cell: what it adds to the ratio of the sums, so that their mean is exactly
 * sum(num) / sum(den). ret_ratio: that ratio. -ENODATA when den or work sums to nothing.
 */
int cells_values(const struct compare_series *s, size_t nr_cells, double *ret_values,
		 double *ret_ratio);

double cells_mean(const double *x, size_t nr);
/* Their standard deviation; 0 of one. */
double cells_spread(const double *x, size_t nr);

#endif
