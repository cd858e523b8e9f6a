/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cells of a series that are unusual within their stretch. Owns the definition of usual: a median
 * and a robust spread, of the figure itself and of its logarithm.
 */
#ifndef SERIES_ANOMALY_H
#define SERIES_ANOMALY_H

#include <stddef.h>

enum { ANOMALY_MAX = 64 /* kept per series */ };

struct anomaly {
	size_t from, to;  /* cells */
	double value;	  /* the most extreme cell */
	double low, high; /* usual range of the stretch */
	double score;	  /* robust standard deviations */
};

struct anomalies {
	struct anomaly at[ANOMALY_MAX];
	size_t nr;
	size_t all; /* number found */
};

/*
 * Adds the anomalies of the stretch x[from..to), between two changes. least: the smallest relevant
 * difference; tests: total number of tested values. work: room for twice the length of the stretch.
 */
void anomaly_find(const double *x, size_t from, size_t to, double least, double tests, double *work,
		  struct anomalies *ret);

#endif
