/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include <math.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/base/human.h"

enum { PLACES = 96 };

/* NULL: there is none. */
static const struct job_curve *curve_of(const struct model *m, const struct model_job *job,
					const char **ret_absent)
{
	const struct analysis_model *a =
		m->analysis ? analysis_model_of(m->analysis, job->id) : NULL;

	*ret_absent = NULL;
	if (a && a->curve.there)
		return &a->curve;
	*ret_absent = a ? a->curve.absent : "the run was not analysed";
	return NULL;
}

static void fill_series(struct arena *a, const struct job_curve *c, const double *bytes, bool after,
			struct picture_series *ret)
{
	double *hit = arena_alloc(a, PLACES * sizeof(*hit));
	double *low = arena_alloc(a, PLACES * sizeof(*low));
	double *high = arena_alloc(a, PLACES * sizeof(*high));

	if (!hit || !low || !high)
		return;
	curve_lines(c, bytes, PLACES, &(struct curve_lines){hit, low, high, NULL});
	*ret = (struct picture_series){.name = after ? "after" : "before",
				       .tone = after ? TONE_B : TONE_A,
				       .mark = curve_ratio_mark(c),
				       .values = hit,
				       .low = low,
				       .high = high};
}

/* "Before: 90 % of hits take 1.2 GiB of cache." */
static const char *need_of(struct arena *a, const struct job_curve *c, bool after)
{
	char says[512];

	curve_say(c, says, sizeof(says));
	return compare_text(a, "%s: %s", after ? "After" : "Before", says);
}

/* What was in the cache at most, where that has a place. */
static void add_mark(struct arena *a, const struct job_curve *c, bool after, double max,
		     struct picture_mark *marks, size_t *nr)
{
	double bytes = c->facts.counted.present_pages * c->facts.page_size_bytes;

	if (bytes < 0 || bytes > max)
		return;
	marks[(*nr)++] = (struct picture_mark){
		bytes, compare_text(a, "%s: present, %s", after ? "after" : "before",
				    human_bytes((uint64_t)bytes).text)};
}

static const double *places(struct arena *a, const struct job_curve *const curves[2],
			    double *ret_max)
{
	double *ret = arena_alloc(a, PLACES * sizeof(*ret));
	double max = 0;

	for (int i = 0; i < 2; i++)
		if (curves[i])
			max = fmax(max, whatif_cache_range(curves[i]) *
						curves[i]->facts.page_size_bytes);
	for (int i = 0; ret && i < PLACES; i++)
		ret[i] = max * i / (PLACES - 1);
	*ret_max = max;
	return ret;
}

static const char *join(struct arena *a, const char *const says[2])
{
	return compare_text(a, "%s%s%s", says[0] ? says[0] : "", says[0] && says[1] ? " " : "",
			    says[1] ? says[1] : "");
}

void compare_curve_make(struct arena *a, const struct model model[2],
			const struct model_job *const job[2], size_t at,
			struct compare_pictures *ret)
{
	const struct job_curve *curves[2];
	struct picture_series *series = arena_alloc(a, 2 * sizeof(*series));
	struct picture_panel *panel = arena_alloc(a, sizeof(*panel));
	struct picture_mark *marks = arena_alloc(a, 2 * sizeof(*marks));
	const char *says[2] = {NULL, NULL};
	const double *bytes;
	struct picture p = {.title = "Hit ratio by cache size, before and after",
			    .panels = panel,
			    .nr_panels = 1,
			    .marks = marks};
	double max = 0;

	for (int i = 0; i < 2; i++)
		curves[i] = curve_of(&model[i], job[i], &ret->no_curve[i]);
	if ((!curves[0] && !curves[1]) || !series || !panel || !marks)
		return;
	bytes = places(a, curves, &max);
	*panel = (struct picture_panel){.name = "Hit ratio",
					.unit = UNIT_SHARE,
					.kind = PANEL_LINES,
					.series = series,
					.top = 1};
	for (int i = 0; i < 2 && bytes; i++) {
		if (!curves[i])
			continue;
		fill_series(a, curves[i], bytes, i, &series[panel->nr_series]);
		panel->nr_series += series[panel->nr_series].values != NULL;
		says[i] = need_of(a, curves[i], i);
		add_mark(a, curves[i], i, max, marks, &p.nr_marks);
	}
	p.id = compare_id(a, "cache-sizes", at);
	p.says = join(a, says);
	p.axis = (struct picture_axis){.name = "cache",
				       .unit = UNIT_BYTES,
				       .kind = AXIS_PLACES,
				       .from = bytes,
				       .nr = bytes && panel->nr_series ? PLACES : 0};
	ret->curve.picture = p;
}
