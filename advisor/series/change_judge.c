/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/change_impl.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "advisor/stats/alike.h"
#include "advisor/stats/student.h"
#include "advisor/series/stats.h"
#include "advisor/series/tail.h"

/* Of standard errors of the autocorrelation: the pieces are chosen so that little of it is left in
 * them. docs/advisor.md has the rates that come of it. */
#define ALIKE_MARGIN 2.5
/* Of the spread of all ranks: what never moves proves no more than what moves a little. */
#define SPREAD_LEAST 0.25
/* Values that all cells of two pieces must be worth. */
#define EFFECTIVE_MIN 12.0

/* For the second of two tests: of the size of a step. One cell of three may be an
 * outlier. The largest twentieth of all jumps stands for their noise, so that what the
 * series does again and again is none. */
enum { JUMP_CELLS = 3, JUMPS_MIN = 10 };
#define NORMAL_95 1.9600
/* Of the cells of a side, in a step: bursts that happen to lie together have others between them.
 */
#define OWN_SHARE 0.9

void change_rank(struct change_search *s, size_t from, size_t to)
{
	size_t nr = to - from;

	stats_ranks(s->x + from, nr, s->order, s->rank);
	s->sum[0] = 0;
	for (size_t i = 0; i < nr; i++)
		s->sum[i + 1] = s->sum[i] + s->rank[i] - (double)(nr + 1) / 2;
	for (size_t m = 1; m < nr; m++)
		s->weight[m] = 1 / sqrt((double)m * (double)(nr - m) / (double)nr);
}

double change_distance(const struct change_search *s, size_t i, size_t j)
{
	return fabs(s->sum[j] - s->sum[i]) * s->weight[j - i];
}

static void take_mean(const struct change_search *s, size_t from, size_t to, double *rest)
{
	double mean = 0;

	for (size_t i = from; i < to; i++)
		mean += s->rank[i] / (double)(to - from);
	for (size_t i = from; i < to; i++)
		rest[i] = s->rank[i] - mean;
}

/* What one independent rank spreads by, and how many the cells are worth, when the pieces up to
 * each of ends have their own mean. */
static double spread_of(struct change_search *s, const size_t *ends, size_t nr_ends,
			double *ret_worth)
{
	size_t nr = ends[nr_ends - 1];
	double all = (double)nr / sqrt(12);
	size_t from = 0;
	double variance;
	double phi;

	for (size_t k = 0; k < nr_ends; k++) {
		take_mean(s, from, ends[k], s->rest);
		from = ends[k];
	}
	variance = alike_lagged(s->rest, nr, 0) * (double)nr / (double)(nr - nr_ends);
	if (variance <= SPREAD_LEAST * SPREAD_LEAST * all * all / 100) {
		*ret_worth = (double)nr;
		return SPREAD_LEAST * all;
	}
	phi = alike_phi(s->rest, nr, nr_ends, ALIKE_MARGIN);
	*ret_worth = (double)nr * (1 - phi) / (1 + phi);
	return fmax(sqrt(variance), SPREAD_LEAST * all);
}

double change_judge_arc(struct change_search *s, const struct change_arc *a, size_t nr)
{
	const size_t ends[] = {a->from, a->to, nr};
	bool first = a->from == 0;
	size_t pieces = 3 - (size_t)first - (a->to == nr);
	double worth;
	double spread = spread_of(s, first ? ends + 1 : ends, pieces, &worth);

	if (worth < EFFECTIVE_MIN)
		return 1;
	return tail_arc(a->distance / spread * sqrt(worth / (double)nr), worth,
			(double)CHANGE_PIECE_MIN / (double)nr);
}

double change_judge_ranks(struct change_search *s, size_t from, size_t at, size_t to)
{
	size_t nr = to - from;
	const size_t ends[] = {at - from, nr};
	double worth;
	double spread;

	change_rank(s, from, to);
	spread = spread_of(s, ends, 2, &worth);
	if (worth < EFFECTIVE_MIN)
		return 1;
	return tail_split(change_distance(s, 0, at - from) / spread * sqrt(worth / (double)nr),
			  (double)CHANGE_PIECE_MIN / (double)nr);
}

double change_median(struct change_search *s, const double *x, size_t from, size_t to)
{
	memcpy(s->rest, x + from, (to - from) * sizeof(*x));
	return stats_median(s->rest, to - from);
}

static double middle_of(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Three cells behind a place less three before it: by their medians, which no outlier moves. */
static double jump_at(const double *x)
{
	return middle_of(x[0], x[1], x[2]) - middle_of(x[-3], x[-2], x[-1]);
}

/* Most cells of either side are nearer to their own median than to the other's. */
static bool parts(struct change_search *s, size_t from, size_t at, size_t to)
{
	double before = change_median(s, s->y, from, at);
	double after = change_median(s, s->y, at, to);
	size_t own_before = 0;
	size_t own_after = 0;

	for (size_t i = from; i < to; i++) {
		bool nearer = fabs(s->y[i] - before) < fabs(s->y[i] - after);

		own_before += i < at && nearer;
		own_after += i >= at && !nearer;
	}
	return (double)own_before >= OWN_SHARE * (double)(at - from) &&
	       (double)own_after >= OWN_SHARE * (double)(to - at);
}

/*
 * p of a step between two pieces, by what else the series does within as few cells: however alike
 * neighbours are, and wherever values drift, all places but this one tell. Few cells have little of
 * a rank to show for a step that is a hundred times their noise.
 */
double change_judge_jump(struct change_search *s, size_t from, size_t at, size_t to)
{
	bool apart = parts(s, from, at, to);
	double *jumps = s->rest;
	double here = jump_at(s->y + at);
	size_t nr = 0;
	double median;
	double spread;

	for (size_t i = from + JUMP_CELLS; i + JUMP_CELLS <= to; i++)
		if (i + JUMP_CELLS <= at || i >= at + JUMP_CELLS)
			jumps[nr++] = jump_at(s->y + i);
	if (nr < JUMPS_MIN || !apart)
		return 1;
	median = stats_median(jumps, nr);
	for (size_t i = 0; i < nr; i++)
		jumps[i] = fabs(jumps[i] - median);
	stats_median(jumps, nr); /* in order from here on */
	spread = jumps[nr - 1 - nr / 20] / NORMAL_95;
	here = fabs(here - median);
	if (!(here > 0))
		return 1;
	return fmin(
		student_two_sided(spread > 0 ? here / spread : INFINITY, (double)nr / JUMP_CELLS) *
			(double)(to - from),
		1);
}
