/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares figures of a run with the job's earlier runs. Owns the expected range of a figure, the
 * list of figures, and the trend test.
 */
#ifndef SERIES_HISTORY_H
#define SERIES_HISTORY_H

#include <sqlite3.h>

#include "advisor/series/series.h"

/* Fills in the history of ret, in the arena. 0 or -errno. */
int history_load(sqlite3 *db, int64_t job_id, struct arena *arena, struct series_job *ret,
		 struct errtext *err);

enum { TREND_MAX = 64 /* values */ };

/* Whether values rise or fall from run to run: Kendall's test, and the Theil-Sen slope, which no
 * single run changes much. */
struct trend {
	double slope; /* median of the slopes between any two values, per step */
	double tau;   /* -1..1; 0 if all are equal */
	double p;     /* two-sided; exact without ties */
};

/* nr up to TREND_MAX; of more, the last ones count. */
struct trend history_trend(const double *x, size_t nr);

#endif
