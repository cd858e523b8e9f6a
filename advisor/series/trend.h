/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether values go up or down from one to the next: Kendall's test, and the slope of Theil and
 * Sen, which no single run moves. Owns both.
 */
#ifndef SERIES_TREND_H
#define SERIES_TREND_H

#include <stddef.h>

enum { TREND_MAX = 64 /* values */ };

struct trend {
	double slope; /* median of the slopes between any two values, a step */
	double tau;   /* -1..1; 0 also where all are equal */
	double p;     /* two-sided; exact where no two are equal */
};

/* nr up to TREND_MAX; more: the last ones. */
struct trend trend_of(const double *x, size_t nr);

#endif
