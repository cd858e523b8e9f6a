/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/change_impl.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/series/stats.h"

/* A figure that is a quarter higher or lower is what a reader would call another one: runs of one
 * job differ by a few per cent. */
#define RELEVANT_SHARE 0.25

/* A stretch whose ranks differ most from the others'; it may begin or end the series. */
static struct change_arc best_arc(const struct change_search *s, size_t nr)
{
	struct change_arc best = {0};

	for (size_t i = 0; i + CHANGE_PIECE_MIN <= nr; i++) {
		if (i && i < CHANGE_PIECE_MIN)
			continue;
		for (size_t j = i + CHANGE_PIECE_MIN; j + CHANGE_PIECE_MIN <= nr; j++)
			if (change_distance(s, i, j) > best.distance)
				best = (struct change_arc){i, j, change_distance(s, i, j)};
		if (i && change_distance(s, i, nr) > best.distance)
			best = (struct change_arc){i, nr, change_distance(s, i, nr)};
	}
	return best;
}

static void insert(struct change_search *s, size_t k, size_t at)
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
		p = change_judge_jump(s, from, from + a->from, from + a->to);
	if (a->to < nr)
		p = fmax(p, change_judge_jump(s, from + a->from, from + a->to, from + nr));
	return p;
}

/* Cuts piece k in two or three; false: it is one. */
static bool cut(struct change_search *s, size_t k)
{
	size_t from = s->at[k];
	size_t nr = s->at[k + 1] - from;
	struct change_arc a;

	if (nr < 2 * CHANGE_PIECE_MIN)
		return false;
	change_rank(s, from, from + nr);
	a = best_arc(s, nr);
	if (!(a.distance > 0) ||
	    (change_judge_arc(s, &a, nr) * s->tests * CHANGE_TESTS > s->level &&
	     judge_ends(s, from, &a, nr) * s->tests * CHANGE_TESTS > s->level))
		return false;
	if (a.to < nr)
		insert(s, k + 1, from + a.to);
	if (a.from)
		insert(s, k + 1, from + a.from);
	return true;
}

static bool matters(double before, double after, double least)
{
	double by = fabs(after - before);

	return by >= least && by >= RELEVANT_SHARE * fmax(fabs(before), fabs(after));
}

static struct change look(struct change_search *s, size_t k)
{
	struct change c = {.at = s->at[k]};

	c.before = change_median(s, s->x, s->at[k - 1], s->at[k]);
	c.after = change_median(s, s->x, s->at[k], s->at[k + 1]);
	c.p = fmin(change_judge_ranks(s, s->at[k - 1], s->at[k], s->at[k + 1]),
		   change_judge_jump(s, s->at[k - 1], s->at[k], s->at[k + 1]));
	c.p = fmin(c.p * s->tests * CHANGE_TESTS, 1);
	return c;
}

/* Takes out the change that says least, as long as there is one that says too little. */
static void prune(struct change_search *s)
{
	for (;;) {
		double worst = 0;
		size_t drop = 0;

		for (size_t k = 1; k + 1 < s->nr_at; k++) {
			struct change c = look(s, k);
			bool good = c.p <= s->level && matters(c.before, c.after, s->least);
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

static size_t fold(const double *x, size_t nr, double *ret, size_t *ret_by)
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

/* Where, near the edge of a folded cell, the values are nearest to the medians of their sides. */
static size_t refine(const double *x, size_t nr, size_t at, size_t by, const struct change *c)
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
	s->at[1] = fold(x, nr, s->x, &by);
	s->nr_at = 2;
	s->tests = tests;
	s->level = level;
	s->least = least;
	for (size_t i = 0; i < s->at[1]; i++)
		s->y[i] = stats_log(s->x[i], least);
	for (size_t k = 0; k + 1 < s->nr_at;)
		if (!cut(s, k))
			k++;
	prune(s);
	for (size_t k = 1; k + 1 < s->nr_at; k++) {
		ret[*ret_nr] = look(s, k);
		if (by > 1)
			ret[*ret_nr].at = refine(x, nr, s->at[k] * by, by, &ret[*ret_nr]);
		++*ret_nr;
	}
	free(s);
	return 0;
}
