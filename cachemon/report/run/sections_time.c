/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/timeline.h"

/* What is drawn of each bucket. */
enum line {
	FROM_S,
	TO_S,
	HITS, /* and from here on as enum timeline_rate has them */
	MISSES = HITS + RATE_MISSES,
	USED = HITS + RATE_USED,
	LATE = HITS + RATE_LATE,
	WASTED = HITS + RATE_WASTED,
	RESIDENT = HITS + RATE_RESIDENT,
	UNTRACKED = HITS + RATE_UNTRACKED,
	BY_KSWAPD = HITS + RATE_BY_KSWAPD,
	BY_TASK = HITS + RATE_BY_TASK,
	BY_LIMIT = HITS + RATE_BY_LIMIT,
	DROPPED = HITS + RATE_DROPPED,
	ELSE = HITS + RATE_ELSE,
	STALL = HITS + RATE_STALL,
	ADVICE = HITS + RATE_NR, /* calls of the first kind, those of the others follow */
	NR_LINES = ADVICE + ADVICE_KINDS,
};

struct lines {
	const struct timeline *t;
	const struct counts *whole;
	const struct model_advice_calls *advice;
	double *of[NR_LINES];
};

/* What is drawn of advice: a lane a kind that was given. */
struct lanes {
	struct picture_series series[ADVICE_KINDS];
	size_t nr;
};

static void fill_bucket(struct lines *l, size_t i)
{
	const struct timeline_bucket *b = &l->t->buckets[i];

	l->of[FROM_S][i] = timeline_from_s(b);
	l->of[TO_S][i] = timeline_to_s(b);
	for (int k = 0; k < RATE_NR; k++)
		l->of[HITS + k][i] = timeline_rate(b, (enum timeline_rate)k);
	for (int kind = 0; kind < ADVICE_KINDS; kind++)
		l->of[ADVICE + kind][i] =
			l->advice->absent ? NAN : (double)l->advice->calls[kind][i];
}

static struct lanes lanes_of(const struct lines *l)
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

	for (int kind = ADVICE_WILLNEED; kind < ADVICE_KINDS; kind++) {
		struct picture_series s = {.name = kinds[kind].name,
					   .tone = kinds[kind].tone,
					   .mark = sizes_calls_mark(l->advice),
					   .values = l->of[ADVICE + kind]};

		if (picture_series_top(&s, l->t->nr) > 0)
			ret.series[ret.nr++] = s;
	}
	return ret;
}

static void say_points(char *says, size_t size, const struct lines *l)
{
	size_t known = 0;

	for (size_t i = 0; i < l->t->nr; i++)
		known += !isnan(l->of[HITS][i]);
	snprintf(says, size,
		 "%zu points, each of one interval or several; resident unused: by how much they "
		 "grew%s.",
		 l->t->nr,
		 known < l->t->nr
			 ? "; a shaded one was not measured, as reads were not watched in it"
			 : "");
}

#define SERIES(n, t, line)                                                                         \
	{                                                                                          \
		.name = (n), .tone = (t), .values = l->of[line],                                   \
		.mark = timeline_rate_mark(l->whole, (enum timeline_rate)(line - HITS))            \
	}
#define PANEL(n, u, k, s)                                                                          \
	{                                                                                          \
		.name = (n), .unit = (u), .kind = (k), .series = (s),                              \
		.nr_series = sizeof(s) / sizeof((s)[0])                                            \
	}

/* Changes of figures at one time have one mark. */
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

static void put_picture(struct doc *d, const struct lines *l, const struct series_job *series)
{
	const struct picture_series reads[] = {SERIES("hits", TONE_HIT, HITS),
					       SERIES("misses", TONE_MISS, MISSES)};
	const struct picture_series fates[] = {SERIES("used in time", TONE_AHEAD, USED),
					       SERIES("used late", TONE_LATE, LATE),
					       SERIES("evicted unused", TONE_WASTE, WASTED),
					       SERIES("resident unused", TONE_RESIDENT, RESIDENT),
					       SERIES("untracked", TONE_OPEN, UNTRACKED)};
	const struct picture_series left[] = {
		SERIES("kswapd", TONE_A, BY_KSWAPD), SERIES("a task's reclaim", TONE_B, BY_TASK),
		SERIES("memory limit", TONE_STALL, BY_LIMIT), SERIES("dropped", TONE_C, DROPPED),
		SERIES("other causes", TONE_OPEN, ELSE)};
	const struct picture_series wait[] = {SERIES("tasks that sleep", TONE_STALL, STALL)};
	const struct lanes advice = lanes_of(l);
	struct change_marks marks;
	const struct picture_panel panels[] = {
		PANEL("Lookups", UNIT_PAGES_PER_S, PANEL_STACK, reads),
		PANEL("Prefetched pages by fate", UNIT_PAGES_PER_S, PANEL_STACK, fates),
		PANEL("Evictions by cause", UNIT_PAGES_PER_S, PANEL_STACK, left),
		PANEL("Stall, mean number", UNIT_NUMBER, PANEL_BARS, wait),
		{.name = "Calls of advice",
		 .unit = UNIT_COUNT,
		 .kind = PANEL_LANES,
		 .series = advice.series,
		 .nr_series = advice.nr},
	};
	char says[320];
	struct picture p = {
		.id = "timeline",
		.title = "Reads, prefetch, evictions and stall",
		.says = says,
		.axis = {.name = "time since the start",
			 .unit = UNIT_SECONDS,
			 .kind = AXIS_SPANS,
			 .from = l->of[FROM_S],
			 .to = l->of[TO_S],
			 .nr = l->t->nr},
		.panels = panels,
		.nr_panels = sizeof(panels) / sizeof(panels[0]) - !advice.nr,
		.marks = marks.mark,
	};

	marks_of(series, &marks);
	p.nr_marks = marks.nr;
	say_points(says, sizeof(says), l);
	doc_put_picture(d, &p);
}

static void put_whose_advice(struct doc *d, const struct model_advice_calls *a)
{
	if (a->absent)
		doc_para(d, "When advice was given is not known: %s.", a->absent);
	else
		doc_para(d, "Calls of advice: to the %s %s whose reads were traced%s.",
			 show_count((struct opt_i64){a->files, true}, false).s,
			 a->files == 1 ? "file" : "files",
			 a->incomplete ? ", not all of them to the end of the run" : "");
}

void sections_timeline(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct lines l = {
		.t = &job->detail->timeline, .whole = &job->counts, .advice = &job->detail->advice};
	double *values = calloc(l.t->nr + 1, NR_LINES * sizeof(*values));

	if (!values) {
		d->failed = true;
		return;
	}
	for (int k = 0; k < NR_LINES; k++)
		l.of[k] = values + (size_t)k * l.t->nr;
	for (size_t i = 0; i < l.t->nr; i++)
		fill_bucket(&l, i);
	put_picture(d, &l, m->analysis ? analysis_series_of(m->analysis, job->id) : NULL);
	put_whose_advice(d, l.advice);
	free(values);
}
