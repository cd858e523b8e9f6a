/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of a run next to those of the job's earlier runs. Owns what a run like those is expected
 * to give, the list of the figures, and the test for a trend.
 */
#ifndef SERIES_HISTORY_H
#define SERIES_HISTORY_H

#include <sqlite3.h>

#include "advisor/series/series.h"

/* History of ret, in the arena. 0 or -errno. */
int history_load(sqlite3 *db, int64_t job_id, struct arena *arena, struct series_job *ret,
		 struct errtext *err);

enum { TREND_MAX = 64 /* values */ };

/* Whether values go up or down from one to the next: Kendall's test, and the slope of Theil and
 * Sen, which no single run moves. */
struct trend {
	double slope; /* median of the slopes between any two values, a step */
	double tau;   /* -1..1; 0 also where all are equal */
	double p;     /* two-sided; exact where no two are equal */
};

/* nr up to TREND_MAX; more: the last ones. */
struct trend history_trend(const double *x, size_t nr);

#endif
