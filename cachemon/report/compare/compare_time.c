/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include <math.h>
#include <string.h>

#include "cachemon/model/model_detail.h"
#include "cachemon/model/timeline.h"

enum { PANELS = 3, SERIES_MAX = 5 };

static const struct {
	const char *name;
	enum picture_unit unit;
	enum panel_kind kind;
	size_t nr;
	struct {
		const char *name;
		enum tone tone;
		enum timeline_rate rate;
	} series[SERIES_MAX];
} wanted[PANELS] = {
	{"Lookups",
	 UNIT_PAGES_PER_S,
	 PANEL_STACK,
	 2,
	 {{"hits", TONE_HIT, RATE_HITS}, {"misses", TONE_MISS, RATE_MISSES}}},
	{"Prefetched pages by fate",
	 UNIT_PAGES_PER_S,
	 PANEL_STACK,
	 5,
	 {{"used in time", TONE_AHEAD, RATE_USED},
	  {"used late", TONE_LATE, RATE_LATE},
	  {"evicted unused", TONE_WASTE, RATE_WASTED},
	  {"resident unused", TONE_RESIDENT, RATE_RESIDENT},
	  {"untracked", TONE_OPEN, RATE_UNTRACKED}}},
	{"Stall, mean number",
	 UNIT_NUMBER,
	 PANEL_BARS,
	 1,
	 {{"tasks that sleep", TONE_STALL, RATE_STALL}}},
};

static const double *rates_of(struct arena *a, const struct timeline *t, enum timeline_rate which)
{
	double *ret = arena_alloc(a, t->nr * sizeof(*ret));

	for (size_t i = 0; ret && i < t->nr; i++)
		ret[i] = timeline_rate(&t->buckets[i], which);
	return ret;
}

static void fill_panel(struct arena *a, const struct model_job *job, int at,
		       struct picture_panel *ret)
{
	const struct timeline *t = &job->detail->timeline;
	struct picture_series *series = arena_alloc(a, SERIES_MAX * sizeof(*series));

	*ret = (struct picture_panel){.name = wanted[at].name,
				      .unit = wanted[at].unit,
				      .kind = wanted[at].kind,
				      .series = series};
	for (size_t i = 0; series && i < wanted[at].nr; i++) {
		series[i] = (struct picture_series){
			.name = wanted[at].series[i].name,
			.tone = wanted[at].series[i].tone,
			.mark = timeline_rate_mark(&job->counts, wanted[at].series[i].rate),
			.values = rates_of(a, t, wanted[at].series[i].rate),
		};
		if (series[i].values)
			ret->nr_series++;
	}
}

static void fill_axis(struct arena *a, const struct timeline *t, struct picture_axis *ret)
{
	double *from = arena_alloc(a, t->nr * sizeof(*from));
	double *to = arena_alloc(a, t->nr * sizeof(*to));

	*ret = (struct picture_axis){.name = "time since the start",
				     .unit = UNIT_SECONDS,
				     .kind = AXIS_SPANS,
				     .from = from,
				     .to = to};
	if (!from || !to)
		return;
	for (size_t i = 0; i < t->nr; i++) {
		from[i] = timeline_from_s(&t->buckets[i]);
		to[i] = timeline_to_s(&t->buckets[i]);
	}
	ret->nr = t->nr;
}

static void fill_picture(struct arena *a, const struct model_job *job, size_t at, bool after,
			 struct compare_picture *ret)
{
	const struct timeline *t = &job->detail->timeline;
	struct picture_panel *panels = arena_alloc(a, PANELS * sizeof(*panels));

	if (!t->nr)
		ret->absent = "no interval of it was recorded";
	if (!t->nr || !panels)
		return;
	for (int i = 0; i < PANELS; i++)
		fill_panel(a, job, i, &panels[i]);
	ret->picture = (struct picture){
		.id = compare_id(a, after ? "time-after" : "time-before", at),
		.title = after ? "After, over time" : "Before, over time",
		.panels = panels,
		.nr_panels = PANELS,
	};
	fill_axis(a, t, &ret->picture.axis);
}

static void say_end(struct arena *a, struct picture *p)
{
	double end = p->axis.nr ? p->axis.to[p->axis.nr - 1] : 0;
	struct picture_mark *mark;

	if (!p->axis.nr)
		return;
	if (p->axis.most <= end) {
		p->says = "Both runs are drawn on the same scales; this one is the longer.";
		return;
	}
	mark = arena_alloc(a, sizeof(*mark));
	p->says = compare_text(a,
			       "Both runs are drawn on the same scales; this one ends at %s, and "
			       "what is right of that is empty.",
			       picture_value(UNIT_SECONDS, end).s);
	if (!mark)
		return;
	*mark = (struct picture_mark){
		end, compare_text(a, "the end, %s", picture_value(UNIT_SECONDS, end).s)};
	p->marks = mark;
	p->nr_marks = 1;
}

void compare_time_make(struct arena *a, const struct model_job *const job[2], size_t at,
		       struct compare_picture ret[2])
{
	for (int i = 0; i < 2; i++)
		fill_picture(a, job[i], at, i, &ret[i]);
	compare_share_scales(&ret[0].picture, &ret[1].picture);
	for (int i = 0; i < 2; i++)
		say_end(a, &ret[i].picture);
}
