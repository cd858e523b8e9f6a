/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/base/human.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/report/whatif/whatif_cache.h"

const char *compare_text(struct arena *a, const char *fmt, ...)
{
	char *text = NULL;
	const char *ret = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		a->failed = true;
		return NULL;
	}
	ret = arena_bytes(a, text, (size_t)len).data;
	free(text);
	return ret;
}

const char *compare_id(struct arena *a, const char *name, size_t at)
{
	char letters[16];
	size_t n = sizeof(letters) - 1;

	letters[n] = '\0';
	if (!at)
		return compare_text(a, "%s", name);
	/* Letters, as ids have no digits: 1 is b, 25 is z, 26 is ba. */
	for (; at; at /= 26)
		letters[--n] = (char)('a' + at % 26);
	return compare_text(a, "%s-%s", name, letters + n);
}

/* 0: nothing is above 0. */
static double higher(double a, double b)
{
	double top = fmax(a, b);

	return top > 0 ? top : 0;
}

/* The panels are of the same kinds in the same order. */
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

enum { BARS_MAX = READ_SIZES };

_Static_assert(WINDOW_SIZES <= (int)BARS_MAX, "bars have room");

/* Bars of both runs, before those are left out that neither has at the ends. */
struct bars {
	const char *names[BARS_MAX];
	double values[2][BARS_MAX];
	size_t nr;
	bool there[2];
};

struct shown_as {
	const char *id[2], *title[2], *says[2], *mark[2], *axis, *series;
	enum tone tone;
};

static bool empty_at(const struct bars *b, size_t i)
{
	return !(b->there[0] && b->values[0][i] > 0) && !(b->there[1] && b->values[1][i] > 0);
}

static void put_bars(struct arena *a, const struct bars *b, size_t first, size_t nr, int which,
		     const struct shown_as *as, size_t at, struct picture *ret)
{
	const char **names = arena_alloc(a, nr * sizeof(*names));
	double *values = arena_alloc(a, nr * sizeof(*values));
	struct picture_series *series = arena_alloc(a, sizeof(*series));
	struct picture_panel *panel = arena_alloc(a, sizeof(*panel));

	if (!names || !values || !series || !panel)
		return;
	for (size_t i = 0; i < nr; i++) {
		names[i] = b->names[first + i];
		values[i] = b->values[which][first + i];
	}
	*series = (struct picture_series){
		.name = as->series, .tone = as->tone, .mark = as->mark[which], .values = values};
	*panel = (struct picture_panel){.name = as->series,
					.unit = UNIT_COUNT,
					.kind = PANEL_BARS,
					.series = series,
					.nr_series = 1};
	*ret = (struct picture){
		.id = compare_id(a, as->id[which], at),
		.title = as->title[which],
		.says = as->says[which],
		.axis = {.name = as->axis, .kind = AXIS_NAMES, .names = names, .nr = nr},
		.panels = panel,
		.nr_panels = 1};
}

/* The same bars of both. */
static void put_both_bars(struct arena *a, const struct bars *b, const struct shown_as *as,
			  size_t at, struct compare_picture ret[2])
{
	size_t first = 0;
	size_t nr = b->nr;

	while (nr && empty_at(b, nr - 1))
		nr--;
	while (first < nr && empty_at(b, first))
		first++;
	for (int i = 0; i < 2; i++) {
		if (b->there[i] && nr > first)
			put_bars(a, b, first, nr - first, i, as, at, &ret[i].picture);
		else if (b->there[i])
			ret[i].absent = "there were none in either run";
	}
	compare_share_scales(&ret[0].picture, &ret[1].picture);
}

static void make_windows(struct arena *a, const struct model_job *const job[2], size_t at,
			 struct compare_picture ret[2])
{
	const struct shown_as as = {
		.id = {"windows-before", "windows-after"},
		.title = {"Before: sizes of readahead windows",
			  "After: sizes of readahead windows"},
		.says = {"", ""},
		.mark = {sizes_windows_mark(&job[0]->counts), sizes_windows_mark(&job[1]->counts)},
		.axis = "pages added by a window",
		.series = "windows",
		.tone = TONE_AHEAD};
	struct bars b = {.nr = WINDOW_SIZES};

	for (int i = 0; i < WINDOW_SIZES; i++)
		b.names[i] = compare_text(a, "%s", sizes_window_name(i).text);
	for (int i = 0; i < 2; i++) {
		b.there[i] = sizes_windows(&job[i]->counts, b.values[i]);
		if (!b.there[i])
			ret[i].absent = "sizes of windows were not measured";
	}
	put_both_bars(a, &b, &as, at, ret);
}

static void make_reads(struct arena *a, const struct model_job *const job[2], size_t at,
		       struct compare_picture ret[2])
{
	struct shown_as as = {
		.id = {"reads-before", "reads-after"},
		.title = {"Before: sizes of read calls", "After: sizes of read calls"},
		.says = {"", ""},
		.axis = "bytes asked for by a call",
		.series = "calls",
		.tone = TONE_HIT};
	struct bars b = {.nr = READ_SIZES};

	for (int i = 0; i < READ_SIZES; i++)
		b.names[i] = compare_text(a, "%s", sizes_read_name(i).text);
	for (int k = 0; k < 2; k++) {
		const struct model_detail *x = job[k]->detail;
		char says[256];

		b.there[k] = !x->advice.absent;
		ret[k].absent = x->advice.absent;
		if (!b.there[k])
			continue;
		sizes_say_reads(&x->advice, says, sizeof(says));
		as.says[k] = compare_text(a, "%s", says);
		as.mark[k] = sizes_calls_mark(&x->advice);
		sizes_reads(x, b.values[k]);
	}
	put_both_bars(a, &b, &as, at, ret);
}

enum { PLACES = 96 };

/* NULL: there is none. */
static const struct job_curve *curve_of(const struct model *m, const struct model_job *job,
					const char **ret_absent)
{
	const struct analysis_model *a = findings_models(m, job);

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
static void add_present(struct arena *a, const struct job_curve *c, bool after, double max,
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

static const char *join_sentences(struct arena *a, const char *const says[2])
{
	return compare_text(a, "%s%s%s", says[0] ? says[0] : "", says[0] && says[1] ? " " : "",
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

void compare_pictures_make(struct arena *a, const struct model model[2],
			   const struct model_job *const job[2], size_t at,
			   struct compare_pictures *ret)
{
	*ret = (struct compare_pictures){0};
	compare_time_make(a, job, at, ret->time);
	make_windows(a, job, at, ret->windows);
	make_reads(a, job, at, ret->reads);
	make_curve(a, model, job, at, ret);
}
