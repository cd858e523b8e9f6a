/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/link.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/stats/stats.h"

/* Lags whose autocorrelation lowers the effective number of cells. */
enum { ALIKE_LAGS = 20, RHYTHM_MAX = 200, RHYTHMS = 3 };

/* If a figure rarely differs from its median, only the cells in which it does are evidence. This
 * many are needed. */
enum { MOVES_MIN = 15 };

/* With fewer periods, two separate rhythms look like one. */
enum { REPEATS_MIN = 8 };

/* A line and an autocorrelation were fitted to each of the two. */
#define FITTED 4

/* Subtracts the median of the stretch, so that a step is not a link. */
static void take_medians(const double *x, const size_t *ends, size_t nr_ends, double *work,
			 double *ret)
{
	size_t from = 0;

	for (size_t k = 0; k < nr_ends; k++) {
		size_t nr = 0;
		double median;

		for (size_t i = from; i < ends[k]; i++)
			if (!isnan(x[i]))
				work[nr++] = x[i];
		median = stats_median(work, nr);
		for (size_t i = from; i < ends[k]; i++)
			ret[i] = x[i] - median;
		from = ends[k];
	}
}

/* Ranks of the known values of y, minus their mean. */
static void rank_known(const double *y, const bool *known, size_t nr, double *packed,
		       const double **order, double *ret)
{
	size_t nr_known = 0;
	size_t at = 0;

	for (size_t i = 0; i < nr; i++)
		if (known[i])
			packed[nr_known++] = y[i];
	stats_ranks(packed, nr_known, order, packed + nr);
	for (size_t i = 0; i < nr; i++)
		ret[i] = known[i] ? packed[nr + at++] - (double)(nr_known + 1) / 2 : 0;
}

/* Over ranks that are known in both places. */
static double alike_at(const double *rank, const bool *known, size_t nr, size_t lag)
{
	double with = 0;
	double own = 0;
	size_t pairs = 0;
	size_t all = 0;

	for (size_t i = 0; i < nr; i++) {
		if (known[i]) {
			own += rank[i] * rank[i];
			all++;
		}
		if (i >= lag && known[i] && known[i - lag]) {
			with += rank[i] * rank[i - lag];
			pairs++;
		}
	}
	if (!pairs || !(own > 0))
		return 0;
	return fmax(fmin(with / (double)pairs / (own / (double)all), 1), -1);
}

/*
 * The period of a rhythm. Two figures with the same rhythm correlate at some lag, whether they are
 * related or not. A period counts if its correlation exceeds three standard errors of noise; 0:
 * none.
 */
static size_t rhythm_of(const struct link_series *s, double *ret_phi)
{
	size_t most = s->nr / 3 < RHYTHM_MAX ? s->nr / 3 : RHYTHM_MAX;
	size_t best = 0;

	*ret_phi = 3 / sqrt((double)s->nr + 1);
	for (size_t lag = 2; lag <= most; lag++) {
		double phi = alike_at(s->rank, s->known, s->nr, lag);

		if (phi > *ret_phi) {
			*ret_phi = phi;
			best = lag;
		}
	}
	return best;
}

/* Subtracts the straight line through the ranks of each stretch, so that a trend is not a link. */
static void take_trend(double *rank, const bool *known, const size_t *ends, size_t nr_ends)
{
	size_t from = 0;

	for (size_t k = 0; k < nr_ends; from = ends[k++]) {
		double n = 0, x = 0, y = 0, xx = 0, xy = 0;
		double slope;

		for (size_t i = from; i < ends[k]; i++) {
			n += known[i];
			x += known[i] ? (double)i : 0;
			y += rank[i];
		}
		for (size_t i = from; i < ends[k]; i++) {
			double at = known[i] ? (double)i - x / n : 0;

			xx += at * at;
			xy += at * rank[i];
		}
		slope = xx > 0 ? xy / xx : 0;
		for (size_t i = from; i < ends[k]; i++)
			if (known[i])
				rank[i] -= y / n + slope * ((double)i - x / n);
	}
}

/* Subtracts from each rank phi times the rank lag cells before it; unknown if either is. Uses
 * ranks, so that an outlier has no echo; runs backwards, because each step needs the earlier
 * ranks. */
static void take_past(struct link_series *s, double phi, size_t lag, double *left, double *packed,
		      const double **order)
{
	s->nr_known = 0;
	for (size_t i = s->nr; i-- > 0;) {
		s->known[i] = i >= lag && s->known[i] && s->known[i - lag];
		left[i] = s->known[i] ? s->rank[i] - phi * s->rank[i - lag] : 0;
		s->nr_known += s->known[i];
	}
	rank_known(left, s->known, s->nr, packed, order, s->rank);
}

int link_prepare(const double *x, size_t nr, const size_t *ends, size_t nr_ends,
		 struct link_series *ret)
{
	double *y = calloc(nr * 4 + 4, sizeof(*y));
	const double **order = calloc(nr + 1, sizeof(*order));
	double *packed = y ? y + nr : NULL;
	double *left = y ? y + 3 * nr : NULL;
	size_t moves = 0;
	size_t lag;
	double phi;

	if (!y || !order) {
		free(y);
		free(order);
		return -ENOMEM;
	}
	ret->nr = nr;
	take_medians(x, ends, nr_ends, packed, y);
	for (size_t i = 0; i < nr; i++) {
		ret->known[i] = !isnan(x[i]);
		moves += ret->known[i] && y[i] != 0;
	}
	rank_known(y, ret->known, nr, packed, order, ret->rank);
	take_trend(ret->rank, ret->known, ends, nr_ends);
	take_past(ret, alike_at(ret->rank, ret->known, nr, 1), 1, left, packed, order);
	/* The first cell after a change has no valid past. */
	for (size_t k = 0; k + 1 < nr_ends; k++) {
		ret->nr_known -= ret->known[ends[k]];
		ret->known[ends[k]] = false;
	}
	/* A period that is not a whole number of cells appears at both neighbours and at their
	 * multiples. */
	ret->rhythm = 0;
	for (int i = 0; i < RHYTHMS && (lag = rhythm_of(ret, &phi)); i++) {
		ret->rhythm = ret->rhythm ? ret->rhythm : lag;
		take_past(ret, phi, lag, left, packed, order);
	}
	if (moves < MOVES_MIN)
		ret->nr_known = 0;
	free(y);
	free(order);
	return 0;
}

/* Sums over the cells where both are known. */
struct together {
	double ab, aa, bb;
	size_t nr;
};

static struct together sum_at(const struct link_series *a, const struct link_series *b, int lag)
{
	struct together t = {0};
	size_t from = lag > 0 ? (size_t)lag : 0;
	size_t to = lag < 0 ? a->nr - (size_t)-lag : a->nr;

	/* i: index in b. */
	for (size_t i = from; i < to; i++) {
		size_t j = (size_t)((long)i - lag);

		if (!b->known[i] || !a->known[j])
			continue;
		t.ab += a->rank[j] * b->rank[i];
		t.aa += a->rank[j] * a->rank[j];
		t.bb += b->rank[i] * b->rank[i];
		t.nr++;
	}
	return t;
}

/* Bartlett: the effective number of cells of two autocorrelated series. */
static double worth_of(const struct link_series *a, const struct link_series *b, size_t nr)
{
	double time = 1;

	for (size_t lag = 1; lag <= ALIKE_LAGS && lag < nr / 4; lag++)
		time += 2 * alike_at(a->rank, a->known, a->nr, lag) *
			alike_at(b->rank, b->known, b->nr, lag);
	return (double)nr / fmax(time, 1) - FITTED;
}

static double p_of(double rho, double cells)
{
	double left = 1 - rho * rho;

	if (cells < 4)
		return 1;
	if (left < 1e-12)
		return 0;
	return stats_student_two_sided(rho * sqrt((cells - 2) / left), cells - 2);
}

size_t link_lags(size_t nr)
{
	return nr / 10 < LINK_LAG_MAX ? nr / 10 : LINK_LAG_MAX;
}

struct link link_find(const struct link_series *a, const struct link_series *b, double tests,
		      double level)
{
	struct link best = {.p = 1};
	size_t rhythm = a->rhythm > b->rhythm ? a->rhythm : b->rhythm;
	int most = a->nr_known && b->nr_known ? (int)link_lags(a->nr) : -1;

	if (a->rhythm && b->rhythm && rhythm * REPEATS_MIN > a->nr)
		return best;
	for (int k = 0; k <= 2 * most; k++) {
		/* 0, 1, -1, 2, ...: of equal correlations the shortest lag wins. */
		int lag = k % 2 ? (k + 1) / 2 : -k / 2;
		struct together t = sum_at(a, b, lag);
		double rho;

		if (t.nr < LINK_CELLS_MIN || !(t.aa > 0) || !(t.bb > 0))
			continue;
		rho = t.ab / sqrt(t.aa * t.bb);
		if (fabs(rho) > fabs(best.rho))
			best = (struct link){.lag = lag, .rho = rho, .p = 1, .cells = t.nr};
	}
	if (fabs(best.rho) < LINK_RHO_MIN)
		return best;
	best.p = fmin(p_of(best.rho, worth_of(a, b, best.cells)) * tests, 1);
	best.found = best.p <= level;
	return best;
}
