/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_pictures.h"

#include "cachemon/model/model_detail.h"

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

static void put(struct arena *a, const struct bars *b, size_t first, size_t nr, int which,
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
static void put_both(struct arena *a, const struct bars *b, const struct shown_as *as, size_t at,
		     struct compare_picture ret[2])
{
	size_t first = 0;
	size_t nr = b->nr;

	while (nr && empty_at(b, nr - 1))
		nr--;
	while (first < nr && empty_at(b, first))
		first++;
	for (int i = 0; i < 2; i++) {
		if (b->there[i] && nr > first)
			put(a, b, first, nr - first, i, as, at, &ret[i].picture);
		else if (b->there[i])
			ret[i].absent = "there were none in either run";
	}
	compare_share_scales(&ret[0].picture, &ret[1].picture);
}

void compare_windows_make(struct arena *a, const struct model_job *const job[2], size_t at,
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
	put_both(a, &b, &as, at, ret);
}

void compare_reads_make(struct arena *a, const struct model_job *const job[2], size_t at,
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
	put_both(a, &b, &as, at, ret);
}
