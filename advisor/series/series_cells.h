/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The intervals of a job as cells of about equal length, in order of time, with every figure of
 * each; NAN is unknown. Owns the conversion of intervals of several lengths, and the list of
 * figures: which difference matters, and which figures are related by definition. (Cells of equal
 * work, for comparing runs, are in compare/cells.h.)
 */
#ifndef SERIES_CELLS_H
#define SERIES_CELLS_H

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
/* A smaller difference never matters; in the metric's unit. */
double series_least(enum series_figure f);
/* 0; -INFINITY for a growth, which may be negative. */
double series_lowest(enum series_figure f);
/* Why two figures are related by definition; NULL: they are not. */
const char *series_bound(enum series_figure a, enum series_figure b);

enum { SERIES_MAX = 2048 };

/* The values of a row of the database. */
enum series_input {
	INPUT_CPU_NS,
	INPUT_READ_BYTES,
	INPUT_LOOKUPS,
	INPUT_MISSES,
	INPUT_PREFETCHED,
	INPUT_WASTED,
	INPUT_EVICTED,
	INPUT_REFAULTS,
	INPUT_STALL_NS,
	INPUT_SUMS, /* the inputs above are sums; those below are values at the end of the row */
	INPUT_AVAILABLE = INPUT_SUMS,
	INPUT_JOB_MEMORY,
	INPUT_JOB_FILES,
	INPUT_NR,
};

struct series_row {
	int64_t start_ns, duration_ns;
	bool partial; /* reads were not watched throughout */
	bool rolled;  /* merged from several intervals */
	double v[INPUT_NR];
};

struct series_cells {
	size_t nr;
	int64_t length_ns;   /* approximate length of a cell */
	int64_t left_out_ns; /* cells begin here, because earlier rows are too coarse; or 0 */
	int64_t *start_ns, *end_ns;
	double *v[FIGURE_NR];
};

/* rows may be in any order, and are sorted by time. nr 0: no rows. 0 or -ENOMEM. */
int series_cells_make(struct series_row *rows, size_t nr, struct arena *arena,
		      struct series_cells *ret);

#endif
