/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/cells.h"

#include <errno.h>
#include <math.h>

size_t cells_number(size_t intervals_a, size_t intervals_b)
{
	size_t nr = intervals_a < intervals_b ? intervals_a : intervals_b;

	return nr < CELLS_MAX ? nr : CELLS_MAX;
}

static size_t cell_at(double share, size_t nr_cells)
{
	double at = share * (double)nr_cells;
	size_t cell = at > 0 ? (size_t)at : 0;

	return cell < nr_cells ? cell : nr_cells - 1;
}

/* Adds an interval, which spans two shares of the work, to the cells that it overlaps. */
static void share_out(double residual, double from, double to, size_t nr_cells, double *values)
{
	size_t first = cell_at(from, nr_cells);
	size_t last = cell_at(to, nr_cells);

	if (first == last || to <= from) {
		values[first] += residual;
		return;
	}
	for (size_t cell = first; cell <= last; cell++) {
		double begin = fmax(from, (double)cell / (double)nr_cells);
		double end = fmin(to, (double)(cell + 1) / (double)nr_cells);

		if (end > begin)
			values[cell] += residual * (end - begin) / (to - from);
	}
}

int cells_values(const struct compare_series *s, size_t nr_cells, double *ret_values,
		 double *ret_ratio)
{
	double num = 0;
	double den = 0;
	double work = 0;
	double done = 0;
	double ratio;

	for (size_t i = 0; i < s->nr; i++) {
		num += s->num[i];
		den += s->den[i];
		work += s->work[i];
	}
	if (!nr_cells || !(den > 0) || !(work > 0))
		return -ENODATA;
	ratio = num / den;
	for (size_t cell = 0; cell < nr_cells; cell++)
		ret_values[cell] = 0;
	for (size_t i = 0; i < s->nr; i++) {
		share_out(s->num[i] - ratio * s->den[i], done / work, (done + s->work[i]) / work,
			  nr_cells, ret_values);
		done += s->work[i];
	}
	for (size_t cell = 0; cell < nr_cells; cell++)
		ret_values[cell] = ratio + ret_values[cell] * (double)nr_cells / den;
	*ret_ratio = ratio;
	return 0;
}

double cells_mean(const double *x, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += x[i];
	return sum / (double)nr;
}

double cells_spread(const double *x, size_t nr)
{
	double mean = cells_mean(x, nr);
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return nr > 1 ? sqrt(sum / (double)(nr - 1)) : 0;
}
