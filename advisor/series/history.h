/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A figure of a run beside the same figure of earlier runs of the job. Owns what a run like those
 * is expected to give, and the list of the figures.
 */
#ifndef SERIES_HISTORY_H
#define SERIES_HISTORY_H

#include "advisor/series/series.h"

enum past_figure {
	PAST_WALL,
	PAST_CPU,
	PAST_STALL,
	PAST_HIT_RATIO,
	PAST_MISSES,
	PAST_PREFETCHED,
	PAST_WASTED,
	PAST_EVICTED,
	PAST_REFAULTS,
	PAST_NR,
};

enum { HISTORY_RUNS_MAX = 50 /* earlier ones, the last of them */ };

/*
 * value: of this run; earlier: of nr earlier ones, the oldest first. tests: figures that are looked
 * at in all. false: fewer than SERIES_RUNS_MIN.
 */
bool history_judge(enum past_figure f, double value, const double *earlier, size_t nr, double tests,
		   struct series_history *ret);

#endif
