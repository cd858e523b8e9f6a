/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Change points of a series: found by ranks, so that no outlier makes a change, and tested against
 * what neighbours that are alike would do anyway. Owns the search and its test.
 */
#ifndef SERIES_CHANGE_H
#define SERIES_CHANGE_H

#include <stddef.h>

enum {
	CHANGE_CELLS_MAX = 400, /* the search takes their square; longer series are folded */
	CHANGE_PIECE_MIN = 5,	/* cells between two changes; what is shorter is an anomaly */
	CHANGE_MAX = 8,		/* of one series */
};

struct change {
	size_t at;	      /* the first cell after it */
	double before, after; /* medians, to the next changes or the ends */
	double p;	      /* of all places where it could be, times tests */
};

/*
 * Changes of x whose p is at most level and whose medians differ by at least a quarter of the
 * larger one, and by least. tests: series that are looked at in all, by which p is
 * multiplied. At most CHANGE_MAX, in order. 0 or -ENOMEM.
 */
int change_find(const double *x, size_t nr, double least, double tests, double level,
		struct change *ret, size_t *ret_nr);

#endif
