/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether two series correlate: the rank correlation of their residuals over lags, after removing
 * what the past of each explains. A shared dependence on time (a trend, one step, a wave in each)
 * is removed first. Owns that removal, and the test.
 */
#ifndef SERIES_LINK_H
#define SERIES_LINK_H

#include <stdbool.h>
#include <stddef.h>

enum {
	LINK_LAG_MAX = 10,
	LINK_CELLS_MIN = 40, /* number of cells known in both */
};

#define LINK_RHO_MIN 0.5

/* The residual of a series, one value per cell; `known` marks the valid ones. */
struct link_series {
	double *rank; /* minus the mean rank */
	bool *known;
	size_t nr, nr_known;
	size_t rhythm; /* period of its rhythm in cells; 0: none */
};

struct link {
	bool found;
	int lag; /* in cells; above 0: b follows a */
	double rho, p;
	size_t cells;
};

/* x may hold NAN. ends: of the stretches between changes; the last one is nr. 0 or -ENOMEM; the
 * caller owns the arrays in ret, with nr values each. */
int link_prepare(const double *x, size_t nr, const size_t *ends, size_t nr_ends,
		 struct link_series *ret);
/* The lag with the strongest correlation, if p times tests is at most level. tests: total number
 * of pairs times lags. */
struct link link_find(const struct link_series *a, const struct link_series *b, double tests,
		      double level);
/* The number of lags to test for this many cells. */
size_t link_lags(size_t nr);

#endif
