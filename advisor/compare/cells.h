/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts two runs on one scale: cuts each run into the same number of cells of equal work, so that
 * cell k is the same part of the job in both runs, however long it took. Owns the cutting. An
 * interval that overlaps several cells is divided by its work.
 */
#ifndef COMPARE_CELLS_H
#define COMPARE_CELLS_H

#include <stddef.h>

enum { CELLS_MAX = 400 };

/* One figure of a run, by interval: num / den, and the work done. */
struct compare_series {
	const double *num;
	const double *den;
	const double *work;
	size_t nr;
};

/* As many cells as the run with fewer intervals has, CELLS_MAX at most. */
size_t cells_number(size_t intervals_a, size_t intervals_b);

/*
 * The value of each cell is its contribution to the ratio of the sums, so that the mean of all
 * cells is exactly sum(num) / sum(den), which ret_ratio receives. -ENODATA: den or work sums to 0.
 */
int cells_values(const struct compare_series *s, size_t nr_cells, double *ret_values,
		 double *ret_ratio);

double cells_mean(const double *x, size_t nr);
/* The standard deviation of x; 0 for a single value. */
double cells_spread(const double *x, size_t nr);

#endif
