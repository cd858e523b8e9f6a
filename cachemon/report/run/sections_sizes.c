/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/report/whatif/whatif_readahead_show.h"

enum { NAMES_MAX = 48 };

_Static_assert(READ_SIZES <= (int)NAMES_MAX && CURVE_DISTANCES < (int)NAMES_MAX, "names have room");

/* Bars from the first to the last that is not 0. */
struct bars {
	char text[NAMES_MAX][32];
	const char *names[NAMES_MAX];
	double values[NAMES_MAX];
	size_t nr;
};

static void trim_bars(struct bars *b)
{
	size_t first = 0;

	while (b->nr && !(b->values[b->nr - 1] > 0))
		b->nr--;
	while (first < b->nr && !(b->values[first] > 0))
		first++;
	b->nr -= first;
	memmove(b->values, b->values + first, b->nr * sizeof(b->values[0]));
	for (size_t i = 0; i < b->nr; i++)
		b->names[i] = b->text[first + i];
}

/* What a picture of bars says beside them. */
struct bars_shown {
	const char *id, *title, *says, *axis, *series, *mark;
	enum picture_unit unit;
	enum tone tone;
};

static void put_bars(struct doc *d, struct bars *b, const struct bars_shown *as)
{
	const struct picture_series series = {
		.name = as->series, .tone = as->tone, .mark = as->mark, .values = b->values};
	const struct picture_panel panel = {.name = as->series,
					    .unit = as->unit,
					    .kind = PANEL_BARS,
					    .series = &series,
					    .nr_series = 1};
	struct picture p = {.id = as->id,
			    .title = as->title,
			    .says = as->says,
			    .axis = {.name = as->axis, .kind = AXIS_NAMES, .names = b->names},
			    .panels = &panel,
			    .nr_panels = 1};

	trim_bars(b);
	p.axis.nr = b->nr;
	doc_put_picture(d, &p);
}

static void name_bar(struct bars *b, int i, struct human name)
{
	snprintf(b->text[i], sizeof(b->text[i]), "%s", name.text);
}

static void put_windows(struct doc *d, const struct counts *c)
{
	const struct bars_shown as = {.id = "window-sizes",
				      .title = "Sizes of readahead windows",
				      .says = "",
				      .axis = "pages added by a window",
				      .series = "windows",
				      .mark = sizes_windows_mark(c),
				      .unit = UNIT_COUNT,
				      .tone = TONE_AHEAD};
	struct bars b = {.nr = WINDOW_SIZES};

	if (!sizes_windows(c, b.values)) {
		doc_para(d, "The sizes of windows were not measured.");
		return;
	}
	for (int i = 0; i < WINDOW_SIZES; i++)
		name_bar(&b, i, sizes_window_name(i));
	put_bars(d, &b, &as);
}

static void put_reads(struct doc *d, const struct model_detail *x)
{
	char says[256];
	const struct bars_shown as = {.id = "read-sizes",
				      .title = "Sizes of read calls",
				      .says = says,
				      .axis = "bytes asked for by a call",
				      .series = "calls",
				      .mark = sizes_calls_mark(&x->advice),
				      .unit = UNIT_COUNT,
				      .tone = TONE_HIT};
	struct bars b = {.nr = READ_SIZES};

	sizes_say_reads(&x->advice, says, sizeof(says));
	sizes_reads(x, b.values);
	for (int i = 0; i < READ_SIZES; i++)
		name_bar(&b, i, sizes_read_name(i));
	put_bars(d, &b, &as);
}

static void put_distances(struct doc *d, const struct job_curve *c)
{
	const struct bars_shown as = {
		.id = "reuse-distances",
		.title = "Reuse distances",
		.says = "How much else is read before a page is read again, from the sample of "
			"references; a cache that is larger has the page still.",
		.axis = "distance",
		.series = "lookups",
		.mark = curve_ratio_mark(c),
		.unit = UNIT_SHARE,
		.tone = TONE_BEST};
	struct bars b = {.nr = CURVE_DISTANCES + 1};

	curve_distances(&c->curve, b.values);
	for (int i = 0; i < CURVE_DISTANCES; i++)
		name_bar(&b, i,
			 human_bytes((UINT64_C(1) << i) * (uint64_t)c->facts.page_size_bytes));
	while (b.nr > 1 && !(b.values[b.nr - 2] > 0))
		b.nr--;
	b.values[b.nr - 1] = c->curve.first_touch;
	snprintf(b.text[b.nr - 1], sizeof(b.text[0]), "first time");
	put_bars(d, &b, &as);
}

void sections_windows(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct counts *c = &job->counts;
	const struct analysis_model *a = findings_models(m, job);

	doc_para(d, "Readahead windows: %s synchronous, %s asynchronous, %s forced by advice.",
		 show_count(counts_get(c, C_windows_sync), false).s,
		 show_count(counts_get(c, C_windows_async), false).s,
		 show_count(counts_get(c, C_windows_forced), false).s);
	put_windows(d, &job->counts);
	if (job->detail->advice.absent)
		doc_para(d, "The sizes of read calls are not known: %s.",
			 job->detail->advice.absent);
	else
		put_reads(d, job->detail);
	if (a && a->curve.there)
		put_distances(d, &a->curve);
	else if (a)
		doc_para(d, "Reuse distances are not known: %s", a->curve.absent);
}

void sections_curve(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = findings_models(m, job);

	if (!a)
		return;
	if (a->curve.there)
		whatif_cache_picture(d, &a->curve);
	else
		doc_para(d, "There is no miss-ratio curve: %s", a->curve.absent);
}

void sections_readahead(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_model *a = findings_models(m, job);

	if (!a)
		return;
	if (!a->readahead.nr_files)
		doc_para(d, "Nothing can be said of other settings: %s.", a->readahead.absent);
	else if (!a->readahead.nr_judged)
		doc_para(d,
			 "Of none of the %zu files that were traced can be said what another "
			 "setting would do; cachemon whatif readahead says why.",
			 a->readahead.nr_files);
	else
		whatif_readahead_picture(d, &a->readahead);
}
