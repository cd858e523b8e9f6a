/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/base/human.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/report/run/pictures.h"
#include "cachemon/report/whatif/whatif_cache.h"

const char *compare_id(struct arena *a, const char *name, size_t at)
{
	char letters[16];
	size_t n = sizeof(letters) - 1;

	letters[n] = '\0';
	if (!at)
		return arena_text(a, name);
	/* Letters, as ids have no digits: 1 is b, 25 is z, 26 is ba. */
	for (; at; at /= 26)
		letters[--n] = (char)('a' + at % 26);
	return arena_print(a, "%s-%s", name, letters + n);
}

/* 0: nothing is above 0. */
static double higher(double a, double b)
{
	double top = fmax(a, b);

	return top > 0 ? top : 0;
}

/* The panels have the same kinds in the same order. */
static void share_panel(struct picture *a, struct picture *b, size_t at)
{
	struct picture_panel *pa = (struct picture_panel *)&a->panels[at];
	struct picture_panel *pb = (struct picture_panel *)&b->panels[at];

	pa->top = pb->top = higher(picture_top(pa, a->axis.nr), picture_top(pb, b->axis.nr));
	for (size_t i = 0; i < pa->nr_series; i++) {
		struct picture_series *sa = (struct picture_series *)&pa->series[i];
		struct picture_series *sb = (struct picture_series *)&pb->series[i];

		sa->top = sb->top = higher(picture_series_top(sa, a->axis.nr),
					   picture_series_top(sb, b->axis.nr));
	}
}

void compare_share_scales(struct picture *a, struct picture *b)
{
	if (!a->axis.nr || !b->axis.nr)
		return;
	if (a->axis.kind != AXIS_NAMES) {
		double end = fmax(picture_end(a), picture_end(b));

		a->axis.least = b->axis.least = 0;
		a->axis.most = b->axis.most = end;
	}
	for (size_t i = 0; i < a->nr_panels; i++)
		share_panel(a, b, i);
}

static bool empty_at(const struct bars b[2], const bool there[2], size_t i)
{
	return !(there[0] && b[0].values[i] > 0) && !(there[1] && b[1].values[i] > 0);
}

/* The same bars for both; bars at the ends that neither has are left out. */
static void put_bars(struct arena *a, const struct bars b[2], const bool there[2], size_t nr,
		     const struct bars_shown shown[2], struct compare_picture ret[2])
{
	size_t first = 0;

	while (nr && empty_at(b, there, nr - 1))
		nr--;
	while (first < nr && empty_at(b, there, first))
		first++;
	for (int i = 0; i < 2; i++) {
		if (there[i] && nr > first)
			ret[i].picture = pictures_bars(a, &b[i], first, nr - first, &shown[i]);
		else if (there[i])
			ret[i].absent = "neither run has any";
	}
	compare_share_scales(&ret[0].picture, &ret[1].picture);
}

static void make_windows(struct arena *a, const struct model_job *const job[2], size_t at,
			 struct compare_picture ret[2])
{
	static const char *const ids[2] = {"windows-before", "windows-after"};
	static const char *const titles[2] = {"Before: readahead window sizes",
					      "After: readahead window sizes"};
	struct bars_shown shown[2];
	struct bars b[2];
	bool there[2];

	for (int i = 0; i < 2; i++) {
		there[i] = pictures_windows(a, &job[i]->counts, &b[i], &shown[i]);
		if (!there[i])
			ret[i].absent = "window sizes were not measured";
		shown[i].id = compare_id(a, ids[i], at);
		shown[i].title = titles[i];
	}
	put_bars(a, b, there, WINDOW_SIZES, shown, ret);
}

static void make_reads(struct arena *a, const struct model_job *const job[2], size_t at,
		       struct compare_picture ret[2])
{
	static const char *const ids[2] = {"reads-before", "reads-after"};
	static const char *const titles[2] = {"Before: read call sizes", "After: read call sizes"};
	struct bars_shown shown[2];
	struct bars b[2];
	bool there[2];

	for (int i = 0; i < 2; i++) {
		ret[i].absent = job[i]->detail->advice.absent;
		there[i] = !ret[i].absent;
		if (there[i])
			pictures_reads(a, job[i]->detail, &b[i], &shown[i]);
		shown[i].id = compare_id(a, ids[i], at);
		shown[i].title = titles[i];
	}
	put_bars(a, b, there, READ_SIZES, shown, ret);
}

enum { PLACES = 96 };

/* NULL: none. */
static const struct job_curve *curve_of(const struct model *m, const struct model_job *job,
					const char **ret_absent)
{
	const struct analysis_model *a = findings_models(m, job);

	*ret_absent = NULL;
	if (a && a->curve.there)
		return &a->curve;
	*ret_absent = a ? a->curve.absent : "the run could not be analysed";
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
	return arena_print(a, "%s: %s", after ? "After" : "Before", says);
}

/* The maximum that was cached, if it is within the axis. */
static void add_present(struct arena *a, const struct job_curve *c, bool after, double max,
			struct picture_mark *marks, size_t *nr)
{
	double bytes = c->facts.counted.present_pages * c->facts.page_size_bytes;

	if (bytes < 0 || bytes > max)
		return;
	marks[(*nr)++] = (struct picture_mark){
		bytes, arena_print(a, "%s: present, %s", after ? "after" : "before",
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

static const char *join_sentences(struct arena *a, const char *const says[2])
{
	return arena_print(a, "%s%s%s", says[0] ? says[0] : "", says[0] && says[1] ? " " : "",
			   says[1] ? says[1] : "");
}

static void make_curve(struct arena *a, const struct model model[2],
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
		add_present(a, curves[i], i, max, marks, &p.nr_marks);
	}
	p.id = compare_id(a, "cache-sizes", at);
	p.says = join_sentences(a, says);
	p.axis = (struct picture_axis){.name = "cache",
				       .unit = UNIT_BYTES,
				       .kind = AXIS_PLACES,
				       .from = bytes,
				       .nr = bytes && panel->nr_series ? PLACES : 0};
	ret->curve.picture = p;
}

void compare_pictures_make(struct arena *a, const struct model *model,
			   const struct model_job *const job[2], size_t at,
			   struct compare_pictures *ret)
{
	*ret = (struct compare_pictures){0};
	compare_time_make(a, job, at, ret->time);
	make_windows(a, job, at, ret->windows);
	make_reads(a, job, at, ret->reads);
	make_curve(a, model, job, at, ret);
}
