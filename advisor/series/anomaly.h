/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cells of a series that are far from what is usual in their stretch. Owns what is usual: a median
 * and a spread that a few outliers do not move, in the figure itself and in its logarithm.
 */
#ifndef SERIES_ANOMALY_H
#define SERIES_ANOMALY_H

#include <stddef.h>

enum { ANOMALY_MAX = 64 /* of one series that are kept */ };

struct anomaly {
	size_t from, to;  /* cells */
	double value;	  /* the most extreme one */
	double low, high; /* what is usual in the stretch */
	double score;	  /* robust standard deviations */
};

struct anomalies {
	struct anomaly at[ANOMALY_MAX];
	size_t nr;
	size_t all; /* that there were */
};

/*
 * Adds those of the stretch x[from..to), between two changes. least: a difference that matters;
 * tests: values that are looked at in all. work: twice as many values as the stretch has.
 */
void anomaly_find(const double *x, size_t from, size_t to, double least, double tests, double *work,
		  struct anomalies *ret);

#endif
