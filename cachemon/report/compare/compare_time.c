/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include "cachemon/report/run/pictures.h"

enum { PANELS = 3 };

static void fill_picture(struct arena *a, const struct model_job *job, size_t at, bool after,
			 struct compare_picture *ret)
{
	const struct timeline *t = &job->detail->timeline;
	static const enum time_panel wanted[PANELS] = {TIME_LOOKUPS, TIME_FATES, TIME_STALL};
	struct picture_panel *panels = arena_alloc(a, PANELS * sizeof(*panels));

	if (!t->nr)
		ret->absent = "no interval was recorded";
	if (!t->nr || !panels)
		return;
	for (int i = 0; i < PANELS; i++)
		pictures_time_panel(a, job, wanted[i], &panels[i]);
	ret->picture = (struct picture){
		.id = compare_id(a, after ? "time-after" : "time-before", at),
		.title = after ? "After, over time" : "Before, over time",
		.panels = panels,
		.nr_panels = PANELS,
	};
	pictures_time_axis(a, t, &ret->picture.axis);
}

static void say_end(struct arena *a, struct picture *p)
{
	double end = p->axis.nr ? p->axis.to[p->axis.nr - 1] : 0;
	struct picture_mark *mark;

	if (!p->axis.nr)
		return;
	if (p->axis.most <= end) {
		p->says = "Both charts have the same scales. This is the longer run.";
		return;
	}
	mark = arena_alloc(a, sizeof(*mark));
	p->says = arena_print(a, "Both charts have the same scales. This run ends at %s.",
			      picture_value(UNIT_SECONDS, end).s);
	if (!mark)
		return;
	*mark = (struct picture_mark){
		end, arena_print(a, "the end, %s", picture_value(UNIT_SECONDS, end).s)};
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
