/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/look_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/series/link.h"
#include "advisor/series/stats.h"

/* Nine of ten values lie further apart than what matters: else a link is one of ripples. */
static bool swings(const struct series_known *k, double least, double *work)
{
	for (size_t i = 0; i < k->nr; i++)
		work[i] = k->x[i];
	stats_median(work, k->nr); /* in order from here on */
	return work[k->nr - 1 - k->nr / 20] - work[k->nr / 20] >= least;
}

/* What is left of each figure when its own past is taken out; nr_known 0: nothing to look at. */
static int prepare(struct series_looked *l, struct link_series *ret)
{
	double *work = arena_alloc(&l->scratch, l->c->nr * sizeof(*work));
	int e = work ? 0 : -ENOMEM;

	for (int f = 0; f < FIGURE_NR && !e; f++) {
		const struct series_known *k = &l->of[f];
		size_t ends[CHANGE_MAX + 1];

		ret[f] = (struct link_series){
			.rank = arena_alloc(&l->scratch, l->c->nr * sizeof(double)),
			.known = arena_alloc(&l->scratch, l->c->nr * sizeof(bool)),
		};
		if (!ret[f].rank || !ret[f].known)
			return -ENOMEM;
		if (k->nr < LINK_CELLS_MIN || !swings(k, series_least(f), work))
			continue;
		for (size_t i = 0; i < k->nr_changes; i++)
			ends[i] = k->cell[k->changes[i].at];
		ends[k->nr_changes] = l->c->nr;
		e = link_prepare(l->c->v[f], l->c->nr, ends, k->nr_changes + 1, &ret[f]);
	}
	return e;
}

static bool is_pair(const struct link_series *left, int a, int b)
{
	return left[a].nr_known >= LINK_CELLS_MIN && left[b].nr_known >= LINK_CELLS_MIN &&
	       !series_bound(a, b);
}

static int by_rho(const void *a, const void *b)
{
	const struct series_link *x = a;
	const struct series_link *y = b;

	if (fabs(x->rho) != fabs(y->rho))
		return fabs(x->rho) > fabs(y->rho) ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

int series_links(struct series_looked *l, struct arena *arena, struct series_job *ret)
{
	struct link_series left[FIGURE_NR];
	struct series_link all[FIGURE_NR * (FIGURE_NR - 1) / 2];
	size_t pairs = 0;
	size_t nr = 0;
	double tests;
	int e = prepare(l, left);

	if (e)
		return e;
	for (int a = 0; a < FIGURE_NR; a++)
		for (int b = a + 1; b < FIGURE_NR; b++)
			pairs += is_pair(left, a, b);
	tests = (double)(pairs * (2 * link_lags(l->c->nr) + 1));
	for (int a = 0; a < FIGURE_NR; a++) {
		for (int b = a + 1; b < FIGURE_NR; b++) {
			struct link k = {.found = false};
			bool turned;

			if (is_pair(left, a, b))
				k = link_find(&left[a], &left[b], tests, SERIES_LEVEL);
			if (!k.found)
				continue;
			turned = k.lag < 0;
			all[nr++] = (struct series_link){
				.a = series_metric(turned ? b : a),
				.b = series_metric(turned ? a : b),
				.lag_ns = l->c->length_ns * abs(k.lag),
				.rho = k.rho,
				.p = k.p,
				.intervals = k.cells,
			};
		}
	}
	qsort(all, nr, sizeof(*all), by_rho);
	ret->nr_links = nr < SERIES_LINKS_MAX ? nr : SERIES_LINKS_MAX;
	ret->more_links = nr - ret->nr_links;
	ret->links = arena_alloc(arena, ret->nr_links * sizeof(*all));
	for (size_t i = 0; ret->links && i < ret->nr_links; i++)
		ret->links[i] = all[i];
	return ret->links ? 0 : -ENOMEM;
}
