/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/figures/show.h"
#include "cachemon/base/human.h"

/* A value of a figure, for people. */
static struct shown show_value(const struct series_metric *m, double v)
{
	struct shown ret = {0};
	const char *sign = v < 0 ? "-" : "";
	double size = fabs(v);

	if (!strcmp(m->unit, "ratio"))
		return show_ratio((struct opt_f64){v, true}, false);
	if (!strcmp(m->unit, "bytes/s"))
		snprintf(ret.s, sizeof(ret.s), "%s%s/s", sign, human_bytes((uint64_t)size).text);
	else if (!strcmp(m->unit, "s"))
		snprintf(ret.s, sizeof(ret.s), "%s%s", sign,
			 human_duration((uint64_t)(size * 1e9)).text);
	else if (!strcmp(m->unit, "tasks") || !strcmp(m->unit, "CPUs"))
		snprintf(ret.s, sizeof(ret.s), "%.2f %s", v, m->unit);
	else
		snprintf(ret.s, sizeof(ret.s), "%s%s %s", sign,
			 human_exact((int64_t)(size + 0.5)).text, m->unit);
	return ret;
}

static struct shown show_seconds(int64_t ns)
{
	return show_ns((struct opt_i64){ns, true});
}

/* Below this, the exact probability does not matter. */
static struct shown show_chance(double p)
{
	struct shown ret = {0};

	if (p < 1e-6)
		snprintf(ret.s, sizeof(ret.s), "<1e-6");
	else
		snprintf(ret.s, sizeof(ret.s), "%.1g", p);
	return ret;
}

static void say_looked_at(struct doc *d, const struct series_job *s)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *text;

	for (size_t i = 0; out && i < s->nr_metrics; i++)
		fprintf(out, "%s%s", i ? ", " : "", s->metrics[i]->title);
	text = text_end(&b);
	if (!text)
		d->failed = true;
	else
		doc_para(d, "Analysed: %s intervals of %s%s%s%s. Figures: %s.",
			 human_exact((int64_t)s->intervals).text, show_seconds(s->interval_ns).s,
			 s->from_ns ? ", from " : "", s->from_ns ? show_seconds(s->from_ns).s : "",
			 s->from_ns ? " (older intervals were merged into longer ones)" : "",
			 *text ? text : "none, because no figure was measured in enough of them");
	free(text);
}

static void say_more(struct doc *d, size_t more, const char *what)
{
	if (more)
		doc_para(d, "And %s more %s.", human_exact((int64_t)more).text, what);
}

static void put_changes(struct doc *d, const struct series_job *s)
{
	static const struct doc_column columns[] = {
		{"CHANGES AT", DOC_RIGHT}, {"FIGURE", DOC_LEFT},  {"BEFORE", DOC_RIGHT},
		{"AFTER", DOC_RIGHT},	   {"CHANCE", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE("Change points, with medians before and after", columns);

	for (size_t i = 0; i < s->nr_changes; i++) {
		const struct series_change *c = &s->changes[i];

		doc_cell_shown(&t, show_seconds(c->at_ns));
		doc_cell(&t, "%s", c->metric->title);
		doc_cell_shown(&t, show_value(c->metric, c->before));
		doc_cell_shown(&t, show_value(c->metric, c->after));
		doc_cell_shown(&t, show_chance(c->p));
	}
	doc_put_table(d, &t);
	say_more(d, s->more_changes, s->more_changes == 1 ? "change" : "changes");
}

/* Without its unit, if that is a separate word. */
static struct shown show_bare(const struct series_metric *m, double v)
{
	struct shown ret = show_value(m, v);
	char *unit = strchr(ret.s, ' ');

	if (unit && strlen(m->unit) > 1 && !strcmp(unit + 1, m->unit))
		*unit = '\0';
	return ret;
}

/* "0 to 33,851 pages/s" */
static void put_range(struct doc_table *t, const struct series_metric *m, double low, double high)
{
	doc_cell(t, "%s to %s", show_bare(m, low).s, show_value(m, high).s);
}

static void put_anomalies(struct doc *d, const struct series_job *s)
{
	static const struct doc_column columns[] = {
		{"AT", DOC_RIGHT},    {"FOR", DOC_RIGHT},   {"FIGURE", DOC_LEFT},
		{"VALUE", DOC_RIGHT}, {"USUAL", DOC_RIGHT}, {"SCORE", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE("Outlying intervals, with the deviation from their "
				       "neighbours in robust standard deviations",
				       columns);

	for (size_t i = 0; i < s->nr_anomalies; i++) {
		const struct series_anomaly *a = &s->anomalies[i];

		doc_cell_shown(&t, show_seconds(a->start_ns));
		doc_cell_shown(&t, show_seconds(a->duration_ns));
		doc_cell(&t, "%s", a->metric->title);
		doc_cell_shown(&t, show_value(a->metric, a->value));
		put_range(&t, a->metric, a->low, a->high);
		doc_cell(&t, "%.1f", a->score);
	}
	doc_put_table(d, &t);
	say_more(d, s->more_anomalies,
		 s->more_anomalies == 1 ? "outlying interval" : "outlying intervals");
}

static void put_links(struct doc *d, const struct series_job *s)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_LEFT},	 {"CORRELATES WITH", DOC_LEFT},
		{"LATER BY", DOC_RIGHT}, {"CORRELATION", DOC_RIGHT},
		{"OF", DOC_RIGHT},	 {"CHANCE", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE("Rank correlations, corrected for autocorrelation", columns);

	for (size_t i = 0; i < s->nr_links; i++) {
		const struct series_link *l = &s->links[i];

		doc_cell(&t, "%s", l->a->title);
		doc_cell(&t, "%s", l->b->title);
		doc_cell(&t, "%s", l->lag_ns ? show_seconds(l->lag_ns).s : "at once");
		doc_cell(&t, "%.2f", l->rho);
		doc_cell(&t, "%s intervals", human_exact((int64_t)l->intervals).text);
		doc_cell_shown(&t, show_chance(l->p));
	}
	doc_put_table(d, &t);
	say_more(d, s->more_links, s->more_links == 1 ? "pair" : "pairs");
}

/* In words, what the tables below list. */
static void say_what(struct doc *d, const struct series_job *s)
{
	if (!s->nr_changes && !s->nr_anomalies && !s->nr_links) {
		doc_para(d, "Nothing stands out: no lasting change, no outlying interval, and no "
			    "correlation beyond chance and the figures' definitions.");
		return;
	}
	if (!s->nr_changes)
		doc_para(d, "No lasting change was found.");
	if (!s->nr_anomalies)
		doc_para(d, "No outlying interval was found.");
	if (!s->nr_links)
		doc_para(d, "No figures correlate beyond chance and their definitions.");
}

static void put_first_change(struct doc *d, const struct series_job *s)
{
	const struct series_change *c = s->changes;
	size_t same = 0;

	if (!s->nr_changes)
		return;
	for (size_t i = 1; i < s->nr_changes; i++)
		if (s->changes[i].p < c->p)
			c = &s->changes[i];
	for (size_t i = 0; i < s->nr_changes; i++)
		same += llabs(s->changes[i].at_ns - c->at_ns) <= s->interval_ns;
	doc_para(d, "The clearest change is in %s at %s: %s before, %s after.%s", c->metric->title,
		 show_seconds(c->at_ns).s, show_value(c->metric, c->before).s,
		 show_value(c->metric, c->after).s,
		 same > 1 ? " Other figures change at the same time." : "");
}

static void say_trends(struct doc *d, const struct series_job *s)
{
	for (size_t i = 0; i < s->nr_history; i++) {
		const struct series_history *h = &s->history[i];
		double step = h->trend_per_run.value;

		if (h->trend_per_run.known)
			doc_para(d, "From run to run, %s goes %s by %s.", h->metric->title,
				 step < 0 ? "down" : "up", show_value(h->metric, fabs(step)).s);
	}
}

/* The numbers may differ between figures. */
static void say_runs(struct doc *d, const struct series_job *s)
{
	size_t unusual = 0;
	size_t least = SIZE_MAX;
	size_t most = 0;
	char of[64] = "";

	for (size_t i = 0; i < s->nr_history; i++) {
		unusual += s->history[i].unusual;
		least = s->history[i].runs < least ? s->history[i].runs : least;
		most = s->history[i].runs > most ? s->history[i].runs : most;
	}
	if (least < most)
		snprintf(of, sizeof(of), "%zu to ", least);
	doc_para(d, "Compared with %s%zu earlier runs of the job, %zu of %zu figures %s unusual.",
		 of, most, unusual, s->nr_history, unusual == 1 ? "is" : "are");
}

static void put_history(struct doc *d, const struct series_job *s)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_LEFT}, {"THIS RUN", DOC_RIGHT}, {"MEDIAN", DOC_RIGHT},
		{"USUAL", DOC_RIGHT}, {"IS", DOC_LEFT},
	};
	struct doc_table t =
		DOC_TABLE("This run and the median and usual range of earlier runs", columns);

	for (size_t i = 0; i < s->nr_history; i++) {
		const struct series_history *h = &s->history[i];

		doc_cell(&t, "%s", h->metric->title);
		doc_cell_shown(&t, show_bare(h->metric, h->value));
		doc_cell_shown(&t, show_bare(h->metric, h->median));
		put_range(&t, h->metric, h->low, h->high);
		doc_cell(&t, "%s", h->unusual ? "unusual" : "usual");
	}
	if (s->history_absent)
		doc_para(d, "Not compared with earlier runs: %s.", s->history_absent);
	else if (!s->nr_history)
		doc_para(d, "Not compared with earlier runs: no figure was measured in enough of "
			    "them.");
	else
		say_runs(d, s);
	say_trends(d, s);
	doc_put_table(d, &t);
}

void sections_series(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct series_job *s = m->analysis ? analysis_series_of(m->analysis, job->id) : NULL;

	if (!s)
		return;
	if (s->absent) {
		doc_para(d, "The intervals were not analysed: %s.", s->absent);
	} else {
		put_first_change(d, s);
		say_what(d, s);
		put_changes(d, s);
		put_anomalies(d, s);
		put_links(d, s);
		say_looked_at(d, s);
	}
	put_history(d, s);
}
