/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/runs/runs_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/report/compare/compare_pictures.h"

enum { PANELS = 4 };

static int compare_names(const struct bytes *a, const struct bytes *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = len ? memcmp(a->data, b->data, len) : 0;

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* By name, then by run: jobs are in the order of runs. */
static int by_name(const void *a, const void *b)
{
	const struct runs_job *const *x = a;
	const struct runs_job *const *y = b;
	int order = compare_names(&(*x)->job->name, &(*y)->job->name);

	return order ? order : (*x > *y) - (*x < *y);
}

static int newest_first(const void *a, const void *b)
{
	const struct runs_trend *x = a;
	const struct runs_trend *y = b;
	const struct runs_job *last_x = x->jobs[x->nr - 1];
	const struct runs_job *last_y = y->jobs[y->nr - 1];

	return (last_x < last_y) - (last_x > last_y);
}

static double value_of(const struct runs_job *j, int panel)
{
	const struct opt_f64 v[PANELS] = {j->time_s, j->miss_ratio, j->stall_share, j->score};

	return v[panel].known ? v[panel].value : NAN;
}

static void fill_panel(struct arena *a, const struct runs_trend *t, int at,
		       struct picture_panel *ret)
{
	static const struct {
		const char *name;
		enum picture_unit unit;
		enum tone tone;
		double top;
	} wanted[PANELS] = {
		{"time", UNIT_SECONDS, TONE_A, 0},
		{"miss ratio", UNIT_SHARE, TONE_MISS, 0},
		{"stalled share of the time", UNIT_SHARE, TONE_STALL, 1},
		{"score by counters", UNIT_NUMBER, TONE_BEST, 1},
	};
	double *values = arena_alloc(a, t->nr * sizeof(*values));
	struct picture_series *series = arena_alloc(a, sizeof(*series));

	if (!values || !series)
		return;
	for (size_t i = 0; i < t->nr; i++)
		values[i] = value_of(t->jobs[i], at);
	*series = (struct picture_series){
		.name = wanted[at].name, .tone = wanted[at].tone, .values = values};
	*ret = (struct picture_panel){.name = wanted[at].name,
				      .unit = wanted[at].unit,
				      .kind = PANEL_LINES,
				      .series = series,
				      .nr_series = 1,
				      .top = wanted[at].top};
}

static void make_picture(struct arena *a, struct runs_trend *t, size_t at)
{
	struct picture_panel *panels = arena_alloc(a, PANELS * sizeof(*panels));
	double *places = arena_alloc(a, t->nr * sizeof(*places));

	if (!panels || !places)
		return;
	for (int i = 0; i < PANELS; i++)
		fill_panel(a, t, i, &panels[i]);
	for (size_t i = 0; i < t->nr; i++)
		places[i] = (double)(i + 1);
	t->picture = (struct picture){
		.id = compare_id(a, "trend", at),
		.title = "From run to run",
		.says = compare_text(a, "%zu runs, number %lld to %lld, the oldest on the left.",
				     t->nr, (long long)t->jobs[0]->run->id,
				     (long long)t->jobs[t->nr - 1]->run->id),
		.axis = {.name = "run of the job",
			 .unit = UNIT_COUNT,
			 .kind = AXIS_PLACES,
			 .from = places,
			 .nr = t->nr},
		.panels = panels,
		.nr_panels = PANELS,
	};
}

void runs_trends_make(struct runs_model *m)
{
	const struct runs_job **order =
		arena_alloc(&m->arena, (m->nr_jobs + 1) * sizeof(struct runs_job *));

	m->trends = arena_alloc(&m->arena, (m->nr_jobs + 1) * sizeof(*m->trends));
	if (!order || !m->trends)
		return;
	for (size_t i = 0; i < m->nr_jobs; i++)
		order[i] = &m->jobs[i];
	qsort(order, m->nr_jobs, sizeof(struct runs_job *), by_name);
	for (size_t i = 0; i < m->nr_jobs; i++) {
		struct runs_trend *t = m->nr_trends ? &m->trends[m->nr_trends - 1] : NULL;

		if (!t || compare_names(&t->name, &order[i]->job->name) != 0) {
			t = &m->trends[m->nr_trends++];
			*t = (struct runs_trend){.name = order[i]->job->name, .jobs = &order[i]};
		}
		t->nr++;
	}
	qsort(m->trends, m->nr_trends, sizeof(*m->trends), newest_first);
	for (size_t i = 0; i < m->nr_trends; i++)
		make_picture(&m->arena, &m->trends[i], i);
}
