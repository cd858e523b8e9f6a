/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/change.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/stats/stats.h"

/* Each change is tested in two ways; the smaller p counts. */
enum { CHANGE_TESTS = 2 };

/* A series in work; all arrays have its length. */
struct change_search {
	double x[CHANGE_CELLS_MAX]; /* folded */
	double y[CHANGE_CELLS_MAX]; /* logarithms, because the spread of counts grows with their
				     * size */
	double rank[CHANGE_CELLS_MAX], sum[CHANGE_CELLS_MAX + 1], rest[CHANGE_CELLS_MAX];
	const double *order[CHANGE_CELLS_MAX];
	size_t at[CHANGE_CELLS_MAX + 2]; /* ends of the pieces: 0, changes, nr */
	size_t nr_at;
	double weight[CHANGE_CELLS_MAX + 1]; /* for a stretch of this many ranked cells */
	double tests, level, least;
};

/* Within the ranked cells. */
struct change_arc {
	size_t from, to;
	double distance;
};

/* In standard errors of the autocorrelation, which the choice of the pieces lowers.
 * docs/advisor.md has the resulting rates. */
#define ALIKE_MARGIN 2.5
/* A share of the spread of all ranks, so that a constant series does not prove more than one that
 * hardly moves. */
#define SPREAD_LEAST 0.25
/* Effective number of values that the cells of two pieces must have. */
#define EFFECTIVE_MIN 12.0

/* For the second test: the noise of a step. One cell of three may be an outlier. The largest
 * twentieth of all jumps is the noise, so that a jump that recurs is not a step. */
enum { JUMP_CELLS = 3, JUMPS_MIN = 10 };
#define NORMAL_95 1.9600
/* At least this share of the cells on each side of a step must belong to that side. Bursts that are
 * close together fail this, because other cells are between them. */
#define OWN_SHARE 0.9

/* Ranks of the cells from..to among each other, and their running sums. */
static void rank_cells(struct change_search *s, size_t from, size_t to)
{
	size_t nr = to - from;

	stats_ranks(s->x + from, nr, s->order, s->rank);
	s->sum[0] = 0;
	for (size_t i = 0; i < nr; i++)
		s->sum[i + 1] = s->sum[i] + s->rank[i] - (double)(nr + 1) / 2;
	for (size_t m = 1; m < nr; m++)
		s->weight[m] = 1 / sqrt((double)m * (double)(nr - m) / (double)nr);
}

/* The distance between the mean ranks inside and outside, on a scale that makes all splits
 * comparable. */
static double distance_of(const struct change_search *s, size_t i, size_t j)
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

/* The spread of one independent rank, and the effective number of cells, when each piece in ends
 * has its own mean. */
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
	variance = stats_lagged(s->rest, nr, 0) * (double)nr / (double)(nr - nr_ends);
	if (variance <= SPREAD_LEAST * SPREAD_LEAST * all * all / 100) {
		*ret_worth = (double)nr;
		return SPREAD_LEAST * all;
	}
	phi = stats_phi(s->rest, nr, nr_ends, ALIKE_MARGIN);
	*ret_worth = (double)nr * (1 - phi) / (1 + phi);
	return fmax(sqrt(variance), SPREAD_LEAST * all);
}

/* p of a stretch of the ranked cells by their ranks, corrected for the number of possible
 * stretches. */
static double judge_arc(struct change_search *s, const struct change_arc *a, size_t nr)
{
	const size_t ends[] = {a->from, a->to, nr};
	bool first = a->from == 0;
	size_t pieces = 3 - (size_t)first - (a->to == nr);
	double worth;
	double spread = spread_of(s, first ? ends + 1 : ends, pieces, &worth);

	if (worth < EFFECTIVE_MIN)
		return 1;
	return stats_tail_arc(a->distance / spread * sqrt(worth / (double)nr), worth,
			      (double)CHANGE_PIECE_MIN / (double)nr);
}

/* p of a change between two pieces by their ranks, corrected for the number of places. */
static double judge_ranks(struct change_search *s, size_t from, size_t at, size_t to)
{
	size_t nr = to - from;
	const size_t ends[] = {at - from, nr};
	double worth;
	double spread;

	rank_cells(s, from, to);
	spread = spread_of(s, ends, 2, &worth);
	if (worth < EFFECTIVE_MIN)
		return 1;
	return stats_tail_split(distance_of(s, 0, at - from) / spread * sqrt(worth / (double)nr),
				(double)CHANGE_PIECE_MIN / (double)nr);
}

static double median_of(struct change_search *s, const double *x, size_t from, size_t to)
{
	memcpy(s->rest, x + from, (to - from) * sizeof(*x));
	return stats_median(s->rest, to - from);
}

static double middle_of(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Three cells after a place minus three before it, by medians, which resist outliers. */
static double jump_at(const double *x)
{
	return middle_of(x[0], x[1], x[2]) - middle_of(x[-3], x[-2], x[-1]);
}

/* Whether most cells on each side are nearer to their own median than to the other. */
static bool is_parted(struct change_search *s, size_t from, size_t at, size_t to)
{
	double before = median_of(s, s->y, from, at);
	double after = median_of(s, s->y, at, to);
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
 * p of a step between two pieces, compared with what else the series does within as few cells.
 * Valid for any autocorrelation and drift, because all other places serve as the reference. Ranks
 * of a few cells cannot show a step of 100 times their noise.
 */
static double judge_jump(struct change_search *s, size_t from, size_t at, size_t to)
{
	bool apart = is_parted(s, from, at, to);
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
	stats_median(jumps, nr); /* sorted from here */
	spread = jumps[nr - 1 - nr / 20] / NORMAL_95;
	here = fabs(here - median);
	if (!(here > 0))
		return 1;
	return fmin(stats_student_two_sided(spread > 0 ? here / spread : INFINITY,
					    (double)nr / JUMP_CELLS) *
			    (double)(to - from),
		    1);
}

/* Runs of one job differ by a few per cent; a reader cares about a difference of a quarter. */
#define RELEVANT_SHARE 0.25

/* The stretch whose ranks differ most from the rest; it may begin or end the series. */
static struct change_arc best_arc(const struct change_search *s, size_t nr)
{
	struct change_arc best = {0};

	for (size_t i = 0; i + CHANGE_PIECE_MIN <= nr; i++) {
		if (i && i < CHANGE_PIECE_MIN)
			continue;
		for (size_t j = i + CHANGE_PIECE_MIN; j + CHANGE_PIECE_MIN <= nr; j++)
			if (distance_of(s, i, j) > best.distance)
				best = (struct change_arc){i, j, distance_of(s, i, j)};
		if (i && distance_of(s, i, nr) > best.distance)
			best = (struct change_arc){i, nr, distance_of(s, i, nr)};
	}
	return best;
}

static void insert_place(struct change_search *s, size_t k, size_t at)
{
	memmove(&s->at[k + 1], &s->at[k], (s->nr_at - k) * sizeof(s->at[0]));
	s->at[k] = at;
	s->nr_at++;
}

/* p of the steps at both ends of a stretch: the larger one. */
static double judge_ends(struct change_search *s, size_t from, const struct change_arc *a,
			 size_t nr)
{
	double p = 0;

	if (a->from)
		p = judge_jump(s, from, from + a->from, from + a->to);
	if (a->to < nr)
		p = fmax(p, judge_jump(s, from + a->from, from + a->to, from + nr));
	return p;
}

/* Splits piece k in two or three; false: it stays whole. */
static bool cut_piece(struct change_search *s, size_t k)
{
	size_t from = s->at[k];
	size_t nr = s->at[k + 1] - from;
	struct change_arc a;

	if (nr < 2 * CHANGE_PIECE_MIN)
		return false;
	rank_cells(s, from, from + nr);
	a = best_arc(s, nr);
	if (!(a.distance > 0) || (judge_arc(s, &a, nr) * s->tests * CHANGE_TESTS > s->level &&
				  judge_ends(s, from, &a, nr) * s->tests * CHANGE_TESTS > s->level))
		return false;
	if (a.to < nr)
		insert_place(s, k + 1, from + a.to);
	if (a.from)
		insert_place(s, k + 1, from + a.from);
	return true;
}

static bool is_relevant(double before, double after, double least)
{
	double by = fabs(after - before);

	return by >= least && by >= RELEVANT_SHARE * fmax(fabs(before), fabs(after));
}

static struct change change_at(struct change_search *s, size_t k)
{
	struct change c = {.at = s->at[k]};

	c.before = median_of(s, s->x, s->at[k - 1], s->at[k]);
	c.after = median_of(s, s->x, s->at[k], s->at[k + 1]);
	c.p = fmin(judge_ranks(s, s->at[k - 1], s->at[k], s->at[k + 1]),
		   judge_jump(s, s->at[k - 1], s->at[k], s->at[k + 1]));
	c.p = fmin(c.p * s->tests * CHANGE_TESTS, 1);
	return c;
}

/* Removes the least significant change while there is one above the level. */
static void prune_changes(struct change_search *s)
{
	for (;;) {
		double worst = 0;
		size_t drop = 0;

		for (size_t k = 1; k + 1 < s->nr_at; k++) {
			struct change c = change_at(s, k);
			bool good = c.p <= s->level && is_relevant(c.before, c.after, s->least);
			double how = good ? 0 : c.p + (c.p <= s->level ? s->level : 0);

			if (!good && how >= worst) {
				worst = how;
				drop = k;
			}
		}
		if (!drop && s->nr_at <= CHANGE_MAX + 2)
			return;
		if (!drop)
			drop = s->nr_at - 2;
		memmove(&s->at[drop], &s->at[drop + 1], (s->nr_at - drop - 1) * sizeof(s->at[0]));
		s->nr_at--;
	}
}

static size_t fold_cells(const double *x, size_t nr, double *ret, size_t *ret_by)
{
	size_t by = (nr + CHANGE_CELLS_MAX - 1) / CHANGE_CELLS_MAX;
	size_t cells = nr / by;

	for (size_t i = 0; i < cells; i++) {
		ret[i] = 0;
		for (size_t k = 0; k < by; k++)
			ret[i] += x[i * by + k] / (double)by;
	}
	*ret_by = by;
	return cells;
}

/* The place, near the edge of a folded cell, that fits the medians of both sides best. */
static size_t refine_place(const double *x, size_t nr, size_t at, size_t by, const struct change *c)
{
	size_t from = at > by ? at - by : 0;
	size_t to = at + by < nr ? at + by : nr;
	size_t best_at = from;
	double best = 0;
	double sum = 0;

	for (size_t i = from; i < to; i++) {
		sum += fabs(x[i] - c->before) - fabs(x[i] - c->after);
		if (sum < best) {
			best = sum;
			best_at = i + 1;
		}
	}
	return best_at;
}

int change_find(const double *x, size_t nr, double least, double tests, double level,
		struct change *ret, size_t *ret_nr)
{
	struct change_search *s;
	size_t by = 1;

	*ret_nr = 0;
	if (nr < 2 * CHANGE_PIECE_MIN)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->at[1] = fold_cells(x, nr, s->x, &by);
	s->nr_at = 2;
	s->tests = tests;
	s->level = level;
	s->least = least;
	for (size_t i = 0; i < s->at[1]; i++)
		s->y[i] = stats_log(s->x[i], least);
	for (size_t k = 0; k + 1 < s->nr_at;)
		if (!cut_piece(s, k))
			k++;
	prune_changes(s);
	for (size_t k = 1; k + 1 < s->nr_at; k++) {
		ret[*ret_nr] = change_at(s, k);
		if (by > 1)
			ret[*ret_nr].at = refine_place(x, nr, s->at[k] * by, by, &ret[*ret_nr]);
		++*ret_nr;
	}
	free(s);
	return 0;
}
