/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is looked at over the intervals of a job. Owns the list, from when on a difference matters,
 * and which figures are bound to each other by how they are counted.
 */
#ifndef SERIES_METRICS_H
#define SERIES_METRICS_H

#include <stdbool.h>

#include "advisor/series/series.h"

enum series_figure {
	FIGURE_HIT_RATIO,
	FIGURE_MISSES,
	FIGURE_LOOKUPS,
	FIGURE_READ_BYTES,
	FIGURE_PREFETCHED,
	FIGURE_WASTED,
	FIGURE_EVICTED,
	FIGURE_REFAULTS,
	FIGURE_STALL,
	FIGURE_CPU,
	FIGURE_AVAILABLE,
	FIGURE_JOB_MEMORY,
	FIGURE_JOB_FILES,
	FIGURE_NR,
};

const struct series_metric *series_metric(enum series_figure f);
/* A difference below it does not matter, whatever it is of; in the metric's unit. */
double series_least(enum series_figure f);
/* 0; of a growth, which may be below it, -INFINITY. */
double series_lowest(enum series_figure f);
/* Why the two say no more together than each alone; NULL: they do. */
const char *series_bound(enum series_figure a, enum series_figure b);

#endif
