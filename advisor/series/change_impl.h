/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the search for changes: the series at work, and how a stretch or a change of it is
 * judged. Owns the tests; the search is change.c's.
 */
#ifndef SERIES_CHANGE_IMPL_H
#define SERIES_CHANGE_IMPL_H

#include "advisor/series/change.h"

/* A change is tested twice, and the better one counts. */
enum { CHANGE_TESTS = 2 };

/* One series at work; all arrays of its length. */
struct change_search {
	double x[CHANGE_CELLS_MAX]; /* folded */
	double y[CHANGE_CELLS_MAX]; /* their logarithms: counts spread by what they are large */
	double rank[CHANGE_CELLS_MAX], sum[CHANGE_CELLS_MAX + 1], rest[CHANGE_CELLS_MAX];
	const double *order[CHANGE_CELLS_MAX];
	size_t at[CHANGE_CELLS_MAX + 2]; /* ends of the pieces: 0, changes, nr */
	size_t nr_at;
	double weight[CHANGE_CELLS_MAX + 1]; /* of a stretch of so many of the ranked cells */
	double tests, level, least;
};

/* Within the ranked cells. */
struct change_arc {
	size_t from, to;
	double distance;
};

/* Ranks of the cells from..to among themselves, and their running sums. */
void change_rank(struct change_search *s, size_t from, size_t to);
/* The distance of the mean rank inside from that outside, on a scale where all splits are alike. */
double change_distance(const struct change_search *s, size_t i, size_t j);
double change_median(struct change_search *s, const double *x, size_t from, size_t to);
/* p of a stretch of the ranked cells by their ranks, of all that there could be. */
double change_judge_arc(struct change_search *s, const struct change_arc *a, size_t nr);
/* p of a change between two pieces by their ranks, of all places in them. */
double change_judge_ranks(struct change_search *s, size_t from, size_t at, size_t to);
/* Likewise, by the size of the step. */
double change_judge_jump(struct change_search *s, size_t from, size_t at, size_t to);

#endif
