/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rank-based change-point detection, adjusted for autocorrelation. Ranks keep outliers from making
 * a change. Owns the search and its test.
 */
#ifndef SERIES_CHANGE_H
#define SERIES_CHANGE_H

#include <stddef.h>

enum {
	CHANGE_CELLS_MAX = 400, /* the search takes quadratic time; longer series are folded */
	CHANGE_PIECE_MIN = 5,	/* cells between two changes; a shorter deviation is an anomaly */
	CHANGE_MAX = 8,		/* per series */
};

struct change {
	size_t at;	      /* the first cell after the change */
	double before, after; /* medians up to the neighbouring changes or the ends */
	double p;	      /* corrected for all places and tests */
};

/*
 * The changes of x whose p is at most level and whose medians differ by at least a quarter of the
 * larger one and by least. tests: total number of tested series, by which p is multiplied. At most
 * CHANGE_MAX, in order. 0 or -ENOMEM.
 */
int change_find(const double *x, size_t nr, double least, double tests, double level,
		struct change *ret, size_t *ret_nr);

#endif
