/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/pictures.h"

/* The drawing of advice: one lane for each kind that was given. */
struct lanes {
	struct picture_series series[ADVICE_KINDS];
	size_t nr;
};

static struct lanes lanes_of(struct arena *a, const struct timeline *t,
			     const struct model_advice_calls *advice)
{
	static const struct {
		const char *name;
		enum tone tone;
	} kinds[ADVICE_KINDS] = {
		[ADVICE_WILLNEED] = {"willneed", TONE_AHEAD},
		[ADVICE_DONTNEED] = {"dontneed", TONE_WASTE},
		[ADVICE_SEQUENTIAL] = {"sequential", TONE_A},
		[ADVICE_RANDOM] = {"random", TONE_B},
		[ADVICE_NORMAL] = {"normal", TONE_OPEN},
		[ADVICE_NOREUSE] = {"noreuse", TONE_C},
		[ADVICE_READAHEAD] = {"readahead", TONE_D},
	};
	struct lanes ret = {.nr = 0};

	for (int kind = ADVICE_WILLNEED; kind < ADVICE_KINDS && !advice->absent; kind++) {
		double *values = arena_alloc(a, t->nr * sizeof(*values));
		struct picture_series s = {.name = kinds[kind].name,
					   .tone = kinds[kind].tone,
					   .mark = sizes_calls_mark(advice),
					   .values = values};

		if (!values)
			break;
		for (size_t i = 0; i < t->nr; i++)
			values[i] = (double)advice->calls[kind][i];
		if (picture_series_top(&s, t->nr) > 0)
			ret.series[ret.nr++] = s;
	}
	return ret;
}

static void say_points(char *says, size_t size, const struct picture_panel *lookups, size_t nr)
{
	size_t known = 0;

	for (size_t i = 0; i < nr; i++)
		known += !isnan(lookups->series[0].values[i]);
	snprintf(says, size,
		 "%s points of one or more intervals each. 'resident unused' shows the change%s.",
		 human_exact((int64_t)nr).text,
		 known < nr ? ". Reads were not watched at the shaded points" : "");
}

/* For people; in the arena. */
static const char *epoch_name(struct arena *a, const struct model_epochs *e, size_t i)
{
	const struct bytes *name = &e->list[i].name;
	char *inert;
	const char *ret;

	if (!e->marked)
		return arena_print(a, "%zu", i + 1);
	if (!name->data)
		return "before the first mark";
	inert = escape_inert_copy(name->data, name->len);
	ret = arena_text(a, inert ? inert : "-");
	free(inert);
	return ret;
}

/* Changes of several figures at one time share a mark. */
struct change_marks {
	struct picture_mark mark[SERIES_CHANGES_MAX];
	char name[SERIES_CHANGES_MAX][160];
	size_t nr;
};

static void marks_of(const struct series_job *s, struct change_marks *ret)
{
	int64_t last_ns = -1;

	ret->nr = 0;
	for (size_t i = 0; s && i < s->nr_changes; i++) {
		const struct series_change *c = &s->changes[i];
		bool same = ret->nr && c->at_ns == last_ns;
		char *name = ret->name[same ? ret->nr - 1 : ret->nr];
		size_t len = same ? strlen(name) : 0;

		if (same)
			snprintf(name + len, sizeof(ret->name[0]) - len, ", %s", c->metric->title);
		else
			snprintf(name, sizeof(ret->name[0]), "from %s on %s",
				 show_ns((struct opt_i64){c->at_ns, true}).s, c->metric->title);
		last_ns = c->at_ns;
		if (!same)
			ret->mark[ret->nr++] =
				(struct picture_mark){.at = (double)c->at_ns / 1e9, .name = name};
	}
}

/* Marks of the job, or the starts of its epochs; no lines if they are too many to distinguish. */
enum { EPOCH_LINES = 60 };

static void put_epoch_lines(struct arena *a, const struct model_epochs *e,
			    struct picture_mark *marks, size_t *nr)
{
	if (e->nr > EPOCH_LINES + 1)
		return;
	for (size_t i = 0; i < e->nr && !a->failed; i++) {
		const struct model_epoch *x = &e->list[i];

		if (!x->start_ns)
			continue;
		marks[(*nr)++] = (struct picture_mark){.at = (double)x->start_ns / 1e9,
						       .name = epoch_name(a, e, i)};
	}
}

static void put_picture(struct doc *d, struct arena *a, const struct model_job *job,
			const struct series_job *series)
{
	enum { ADVICE = TIME_STALL + 1, NR_PANELS };
	const struct timeline *t = &job->detail->timeline;
	const struct lanes advice = lanes_of(a, t, &job->detail->advice);
	struct picture_panel panels[NR_PANELS] = {[ADVICE] = {.name = "Advice calls",
							      .unit = UNIT_COUNT,
							      .kind = PANEL_LANES,
							      .series = advice.series,
							      .nr_series = advice.nr}};
	struct picture_mark lines[SERIES_CHANGES_MAX + EPOCH_LINES];
	struct change_marks marks;
	char says[320];
	struct picture p = {
		.id = "timeline",
		.title = "Reads, prefetch, evictions and stall",
		.says = says,
		.panels = panels,
		.nr_panels = NR_PANELS - !advice.nr,
		.marks = lines,
	};

	for (int i = 0; i < ADVICE; i++)
		pictures_time_panel(a, job, (enum time_panel)i, &panels[i]);
	pictures_time_axis(a, t, &p.axis);
	if (a->failed)
		return;
	marks_of(series, &marks);
	memcpy(lines, marks.mark, marks.nr * sizeof(lines[0]));
	p.nr_marks = marks.nr;
	put_epoch_lines(a, &job->detail->epochs, lines, &p.nr_marks);
	say_points(says, sizeof(says), &panels[TIME_LOOKUPS], t->nr);
	doc_put_picture(d, &p);
}

static void put_whose_advice(struct doc *d, const struct model_advice_calls *a)
{
	if (a->absent)
		doc_para(d, "The times of advice calls were not recorded: %s.", a->absent);
	else
		doc_para(d, "Advice calls are shown for the %s traced %s%s.",
			 show_count((struct opt_i64){a->files, true}, false).s,
			 a->files == 1 ? "file" : "files",
			 a->incomplete ? ", some of which were not traced to the end of the run"
				       : "");
}

void sections_timeline(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct arena a = {0};

	put_picture(d, &a, job, m->analysis ? analysis_series_of(m->analysis, job->id) : NULL);
	d->failed = d->failed || a.failed;
	arena_free(&a);
	put_whose_advice(d, &job->detail->advice);
}

static struct opt_i64 epoch_brought_bytes(const struct model *m, const struct model_epoch *x)
{
	struct opt_i64 pages = counts_sum(&x->counts, SUM_OF(TERMS_brought_pages));

	pages.value *= m->run.page_size_bytes.value;
	return pages;
}

enum { EPOCHS_SHOWN = 50 };

/* Counts are exact only where the job waited for its marks. */
static void say_marks(struct doc *d, const struct model_epochs *e)
{
	size_t late = 0;

	for (size_t i = 0; i < e->nr_marks; i++)
		late += e->marks[i].late_ns.value > 0;
	if (!e->margin_ns.known)
		doc_para(d, "The job marked its epochs. An older cachemon recorded the run: it is "
			    "not known whether the boundaries are late.");
	else if (!late)
		doc_para(d, "The job marked its epochs. Counts are exact.");
	else
		doc_para(
			d,
			"The job marked its epochs, and did not wait for %zu of %zu marks: their "
			"boundaries may be late by up to %s, and what it did meanwhile is counted "
			"in the epoch before. 'cachemon mark' waits, which makes boundaries exact.",
			late, e->nr_marks, show_ns(e->margin_ns).s);
	if (e->nr_unseen)
		doc_para(d,
			 "%zu epoch%s ended before cachemon took %s mark%s. The reads of that time "
			 "are counted in the epoch before.",
			 e->nr_unseen, &"s"[e->nr_unseen == 1],
			 e -> nr_unseen == 1 ? "its" : "their", &"s"[e->nr_unseen == 1]);
}

static void say_epochs(struct doc *d, const struct model_epochs *e)
{
	if (e->marked)
		say_marks(d, e);
	else
		doc_para(d,
			 "The job did not mark epochs; cachemon found that it read its files %zu "
			 "times. A boundary may be off by %s, the length of an interval. 'cachemon "
			 "mark' makes boundaries exact.",
			 e->nr, show_ns(e->margin_ns).s);
	if (e->marks_dropped.known && e->marks_dropped.value > 0)
		doc_para(d, "%s more %s were not kept: a run has room for 4,096.",
			 show_count(e->marks_dropped, false).s,
			 show_plural(e->marks_dropped, "mark", "marks"));
	if (e->nr > EPOCHS_SHOWN)
		doc_para(d, "The first %d of %zu are shown; JSON has all.", EPOCHS_SHOWN, e->nr);
}

void sections_epochs(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"Epoch", DOC_OWN_LINE},       {"from", DOC_RIGHT},    {"lasts", DOC_RIGHT},
		{"hit ratio", DOC_RIGHT},      {"misses", DOC_RIGHT},  {"read", DOC_RIGHT},
		{"into the cache", DOC_RIGHT}, {"waiting", DOC_RIGHT},
	};
	const struct model_epochs *e = &job->detail->epochs;
	struct doc_table t = DOC_TABLE("Epochs of the job", columns);
	struct arena a = {0};

	say_epochs(d, e);
	for (size_t i = 0; i < e->nr && i < EPOCHS_SHOWN; i++) {
		const struct model_epoch *x = &e->list[i];
		struct derived v;

		counts_derive(&x->counts, m->run.page_size_bytes.value, &v);
		doc_cell(&t, "%s", epoch_name(&a, e, i));
		doc_cell_shown(&t, show_ns((struct opt_i64){x->start_ns, true}));
		doc_cell_shown(&t, show_ns((struct opt_i64){x->duration_ns, true}));
		doc_cell_shown(&t, show_ratio(v.hit_ratio, false));
		doc_cell_shown(&t, show_count(counts_get(&x->counts, C_misses), false));
		doc_cell_shown(&t, show_bytes(counts_get(&x->counts, C_read_bytes), false));
		doc_cell_shown(&t, show_bytes(epoch_brought_bytes(m, x), false));
		doc_cell_shown(&t, show_ns(counts_get(&x->counts, C_stall_ns)));
	}
	doc_put_table(d, &t);
	d->failed = d->failed || a.failed;
	arena_free(&a);
}
