/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/look_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/series/anomaly.h"

static bool moves(const struct series_known *k)
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

static int changes(struct series_looked *l, struct arena *arena, struct series_job *ret)
{
	struct series_change *all =
		arena_alloc(&l->scratch, (size_t)FIGURE_NR * CHANGE_MAX * sizeof(*all));
	size_t nr = 0;
	int e = 0;

	for (int f = 0; f < FIGURE_NR && all && !e; f++) {
		struct series_known *k = &l->of[f];

		if (!moves(k))
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
	ret->changes = arena_alloc(arena, ret->nr_changes * sizeof(*all));
	for (size_t i = 0; ret->changes && i < ret->nr_changes; i++)
		ret->changes[i] = all[i];
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

/* One figure stands for what happens at one time, as long as there are other times. */
static void choose(struct series_anomaly *all, size_t nr, struct series_job *ret)
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

static int anomalies(struct series_looked *l, struct arena *arena, struct series_job *ret)
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
	choose(all, nr, ret);
	ret->more_anomalies = more + nr - ret->nr_anomalies;
	return 0;
}

static int names(struct series_looked *l, struct arena *arena, struct series_job *ret)
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
	e = l.scratch.failed ? -ENOMEM : names(&l, arena, ret);
	if (!e)
		e = changes(&l, arena, ret);
	if (!e)
		e = anomalies(&l, arena, ret);
	if (!e)
		e = series_links(&l, arena, ret);
	arena_free(&l.scratch);
	return e;
}
