/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/look.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/series/anomaly.h"
#include "advisor/series/change.h"
#include "advisor/series/link.h"
#include "advisor/stats/stats.h"

/* A figure with its unknown values removed. */
struct series_known {
	double *x;
	size_t *cell; /* index of each value */
	size_t nr;
	struct change changes[CHANGE_MAX];
	size_t nr_changes;
};

/* The cells of a job while they are analysed. */
struct series_looked {
	const struct series_cells *c;
	struct arena scratch;
	struct series_known of[FIGURE_NR];
	size_t figures; /* number of analysed figures */
	size_t values;
};

static bool does_move(const struct series_known *k)
{
	for (size_t i = 1; i < k->nr; i++)
		if (k->x[i] != k->x[0])
			return true;
	return false;
}

static void take_known(struct series_looked *l, enum series_figure f)
{
	struct series_known *k = &l->of[f];
	const double *x = l->c->v[f];

	k->x = arena_alloc(&l->scratch, l->c->nr * sizeof(*k->x));
	k->cell = arena_alloc(&l->scratch, l->c->nr * sizeof(*k->cell));
	if (l->scratch.failed)
		return;
	for (size_t i = 0; i < l->c->nr; i++) {
		if (isnan(x[i]))
			continue;
		k->x[k->nr] = x[i];
		k->cell[k->nr++] = i;
	}
	if (k->nr < SERIES_CELLS_MIN)
		k->nr = 0;
	l->figures += k->nr > 0;
	l->values += k->nr;
}

static int by_time(const void *a, const void *b)
{
	const struct series_change *x = a;
	const struct series_change *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->metric > y->metric) - (x->metric < y->metric);
}

static int by_p(const void *a, const void *b)
{
	const struct series_change *x = a;
	const struct series_change *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return by_time(a, b);
}

static int find_changes(struct series_looked *l, struct arena *arena, struct series_job *ret)
{
	struct series_change *all =
		arena_alloc(&l->scratch, (size_t)FIGURE_NR * CHANGE_MAX * sizeof(*all));
	size_t nr = 0;
	int e = 0;

	for (int f = 0; f < FIGURE_NR && all && !e; f++) {
		struct series_known *k = &l->of[f];

		if (!does_move(k))
			continue;
		e = change_find(k->x, k->nr, series_least(f), (double)l->figures, SERIES_LEVEL,
				k->changes, &k->nr_changes);
		for (size_t i = 0; i < k->nr_changes; i++)
			all[nr++] = (struct series_change){
				.metric = series_metric(f),
				.at_ns = l->c->start_ns[k->cell[k->changes[i].at]],
				.before = k->changes[i].before,
				.after = k->changes[i].after,
				.p = k->changes[i].p,
			};
	}
	if (e || !all)
		return -ENOMEM;
	qsort(all, nr, sizeof(*all), by_p);
	ret->nr_changes = nr < SERIES_CHANGES_MAX ? nr : SERIES_CHANGES_MAX;
	ret->more_changes = nr - ret->nr_changes;
	ret->changes = arena_copy(arena, all, ret->nr_changes * sizeof(*all));
	if (ret->changes)
		qsort(ret->changes, ret->nr_changes, sizeof(*all), by_time);
	return ret->changes ? 0 : -ENOMEM;
}

static int by_score(const void *a, const void *b)
{
	const struct series_anomaly *x = a;
	const struct series_anomaly *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->metric > y->metric) - (x->metric < y->metric);
}

static size_t anomalies_of(struct series_looked *l, enum series_figure f, double *work,
			   struct series_anomaly *ret, size_t *ret_more)
{
	const struct series_known *k = &l->of[f];
	struct anomalies found = {.nr = 0};
	size_t from = 0;

	for (size_t i = 0; i <= k->nr_changes; i++) {
		size_t to = i < k->nr_changes ? k->changes[i].at : k->nr;

		anomaly_find(k->x, from, to, series_least(f), (double)l->values, work, &found);
		from = to;
	}
	for (size_t i = 0; i < found.nr; i++) {
		const struct anomaly *a = &found.at[i];
		int64_t start = l->c->start_ns[k->cell[a->from]];

		ret[i] = (struct series_anomaly){
			.metric = series_metric(f),
			.start_ns = start,
			.duration_ns = l->c->end_ns[k->cell[a->to - 1]] - start,
			.value = a->value,
			.low = fmax(a->low, series_lowest(f)),
			.high = f == FIGURE_HIT_RATIO ? fmin(a->high, 1) : a->high,
			.score = a->score,
		};
	}
	*ret_more += found.all - found.nr;
	return found.nr;
}

static bool overlaps(const struct series_anomaly *a, const struct series_anomaly *b)
{
	return a->start_ns < b->start_ns + b->duration_ns &&
	       b->start_ns < a->start_ns + a->duration_ns;
}

/* Keeps one figure for changes at one time, as long as there are other times. */
static void choose_anomalies(struct series_anomaly *all, size_t nr, struct series_job *ret)
{
	bool taken[FIGURE_NR * ANOMALY_MAX] = {false};

	for (int second = 0; second < 2; second++) {
		for (size_t i = 0; i < nr && ret->nr_anomalies < SERIES_ANOMALIES_MAX; i++) {
			bool again = taken[i];

			for (size_t k = 0; k < ret->nr_anomalies && !second; k++)
				again = again || overlaps(&all[i], &ret->anomalies[k]);
			if (again)
				continue;
			taken[i] = true;
			ret->anomalies[ret->nr_anomalies++] = all[i];
		}
	}
	qsort(ret->anomalies, ret->nr_anomalies, sizeof(*all), by_score);
}

static int find_anomalies(struct series_looked *l, struct arena *arena, struct series_job *ret)
{
	struct series_anomaly *all =
		arena_alloc(&l->scratch, (size_t)FIGURE_NR * ANOMALY_MAX * sizeof(*all));
	double *work = arena_alloc(&l->scratch, l->c->nr * 2 * sizeof(*work));
	size_t more = 0;
	size_t nr = 0;

	ret->anomalies = arena_alloc(arena, SERIES_ANOMALIES_MAX * sizeof(*all));
	if (!all || !work || !ret->anomalies)
		return -ENOMEM;
	for (int f = 0; f < FIGURE_NR; f++)
		nr += anomalies_of(l, f, work, all + nr, &more);
	qsort(all, nr, sizeof(*all), by_score);
	choose_anomalies(all, nr, ret);
	ret->more_anomalies = more + nr - ret->nr_anomalies;
	return 0;
}

/* The middle nine tenths of the values span more than the relevant difference; else a link
 * connects ripples. */
static bool does_swing(const struct series_known *k, double least, double *work)
{
	for (size_t i = 0; i < k->nr; i++)
		work[i] = k->x[i];
	stats_median(work, k->nr); /* sorted from here */
	return work[k->nr - 1 - k->nr / 20] - work[k->nr / 20] >= least;
}

/* The residual of each figure after its own past is removed; nr_known 0: no data. */
static int prepare_links(struct series_looked *l, struct link_series *ret)
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
		if (k->nr < LINK_CELLS_MIN || !does_swing(k, series_least(f), work))
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

static int find_links(struct series_looked *l, struct arena *arena, struct series_job *ret)
{
	struct link_series left[FIGURE_NR];
	struct series_link all[FIGURE_NR * (FIGURE_NR - 1) / 2];
	size_t pairs = 0;
	size_t nr = 0;
	double tests;
	int e = prepare_links(l, left);

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
	ret->links = arena_copy(arena, all, ret->nr_links * sizeof(*all));
	return ret->links ? 0 : -ENOMEM;
}

static int list_metrics(struct series_looked *l, struct arena *arena, struct series_job *ret)
{
	ret->metrics = arena_alloc(arena, FIGURE_NR * sizeof(void *));
	for (int f = 0; f < FIGURE_NR && ret->metrics; f++)
		if (l->of[f].nr)
			ret->metrics[ret->nr_metrics++] = series_metric(f);
	return ret->metrics ? 0 : -ENOMEM;
}

int series_look(const struct series_cells *c, struct arena *arena, struct series_job *ret)
{
	struct series_looked l = {.c = c};
	int e;

	for (int f = 0; f < FIGURE_NR; f++)
		take_known(&l, f);
	e = l.scratch.failed ? -ENOMEM : list_metrics(&l, arena, ret);
	if (!e)
		e = find_changes(&l, arena, ret);
	if (!e)
		e = find_anomalies(&l, arena, ret);
	if (!e)
		e = find_links(&l, arena, ret);
	arena_free(&l.scratch);
	return e;
}
