/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether two series correlate: the rank correlation of their residuals, after removing what the
 * own past of each explains, over lags. Shared dependence on time (a trend, one step, a wave in
 * each) is removed first. Owns that, and the test.
 */
#ifndef SERIES_LINK_H
#define SERIES_LINK_H

#include <stdbool.h>
#include <stddef.h>

enum {
	LINK_LAG_MAX = 10,
	LINK_CELLS_MIN = 40, /* of both known */
};

#define LINK_RHO_MIN 0.5

/* The residual of a series: values of all cells; known says which count. */
struct link_series {
	double *rank; /* less the mean rank */
	bool *known;
	size_t nr, nr_known;
	size_t rhythm; /* cells after which it comes again; 0: it has none */
};

struct link {
	bool found;
	int lag; /* cells; above 0: b comes after a */
	double rho, p;
	size_t cells;
};

/* x may hold NAN. ends: of the stretches between changes, the last one nr. 0 or -ENOMEM; what ret
 * points to is the caller's, of nr values each. */
int link_prepare(const double *x, size_t nr, const size_t *ends, size_t nr_ends,
		 struct link_series *ret);
/* The lag at which the two go together most, if p times tests is at most level. tests: pairs times
 * lags that are looked at in all. */
struct link link_find(const struct link_series *a, const struct link_series *b, double tests,
		      double level);
/* How many lags are looked at in so many cells. */
size_t link_lags(size_t nr);

#endif
