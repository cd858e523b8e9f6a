/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/runs/runs_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/human.h"
#include "cachemon/report/run/report.h"
#include "cachemon/report/run/findings.h"

/* Runs that fit on a page, newest first. */
enum { JOBS_MAX = 300, PICTURES_MAX = 12, POINTS_MAX = 200, RUNS_MAX = 1000, LINE_WIDTH = 24 };

static struct shown show_time(struct opt_f64 s)
{
	return show_ns((struct opt_i64){(int64_t)(s.value * 1e9), s.known});
}

static struct shown show_score(const struct runs_job *j)
{
	struct shown ret = {.s = "-"};

	if (j->letter.len == 1 && j->letter.data[0] >= 'A' && j->letter.data[0] <= 'F')
		snprintf(ret.s, sizeof(ret.s), "%c %.40s", j->letter.data[0],
			 show_double(j->score, 2).s);
	return ret;
}

/* The newest points, as many as fit. */
static struct picture newest_points(const struct picture *p, struct picture_panel panels[],
				    struct picture_series series[], size_t max)
{
	struct picture ret = *p;
	size_t skip = p->axis.nr > max ? p->axis.nr - max : 0;

	ret.axis.from += skip;
	ret.axis.nr -= skip;
	for (size_t i = 0; i < p->nr_panels; i++) {
		panels[i] = p->panels[i];
		series[i] = p->panels[i].series[0];
		series[i].values += skip;
		panels[i].series = &series[i];
	}
	ret.panels = panels;
	return ret;
}

enum { PANELS_MAX = 8 };

static void put_time_line(struct doc_table *t, const struct picture *p)
{
	struct picture_panel panels[PANELS_MAX];
	struct picture_series series[PANELS_MAX];
	struct picture newest = newest_points(p, panels, series, LINE_WIDTH);
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out && newest.nr_panels)
		picture_sparkline(out, &newest, newest.panels[0].series, LINE_WIDTH);
	doc_cell_text(t, text_end(&b));
}

static void put_trend(struct doc_table *t, const struct runs_trend *trend)
{
	const struct runs_job *last = trend->jobs[trend->nr - 1];

	doc_cell_name(t, &trend->name, "-");
	doc_cell(t, "%s", human_exact((int64_t)trend->nr).text);
	doc_cell(t, "%" PRId64, last->run->id);
	doc_cell_shown(t, show_time(last->time_s));
	doc_cell_shown(t, show_ratio(last->miss_ratio, last->job->counts.sliced));
	doc_cell_shown(t, show_ratio(last->stall_share, false));
	doc_cell_shown(t, show_score(last));
	put_time_line(t, &trend->picture);
}

static void put_trends(struct doc *d, const struct runs_model *m, bool all)
{
	static const struct doc_column columns[] = {
		{"JOB", DOC_OWN_LINE}, {"RUNS", DOC_RIGHT},
		{"LAST", DOC_RIGHT},   {"TOOK", DOC_RIGHT},
		{"MISSES", DOC_RIGHT}, {"WAITING", DOC_RIGHT},
		{"GRADE", DOC_LEFT},   {"TIME, RUN BY RUN", DOC_LEFT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t nr = all || m->nr_trends < JOBS_MAX ? m->nr_trends : JOBS_MAX;

	if (nr)
		doc_para(d,
			 "Figures are for the last run. The sparkline shows the duration of each "
			 "run, scaled to the longest; the newest is on the right.");
	for (size_t i = 0; i < nr; i++)
		put_trend(&t, &m->trends[i]);
	doc_put_table(d, &t);
	if (nr < m->nr_trends)
		doc_para(d,
			 "Not shown: %zu more jobs, whose last runs are older. The JSON list has "
			 "them.",
			 m->nr_trends - nr);
	if (nr)
		doc_para(d,
			 "MISSES is the share of page lookups that missed. WAITING is the share of "
			 "its time that the job slept for the page cache. GRADE is the overall "
			 "grade at the end of the run, or - without one.");
}

/* Jobs with several runs. */
static void put_pictures(struct doc *d, const struct runs_model *m)
{
	size_t shown = 0;
	size_t left = 0;

	for (size_t i = 0; i < m->nr_trends; i++) {
		const struct runs_trend *t = &m->trends[i];
		struct picture_panel panels[PANELS_MAX];
		struct picture_series series[PANELS_MAX];
		struct picture p;

		if (t->nr < 2 || shown == PICTURES_MAX) {
			left += t->nr >= 2;
			continue;
		}
		shown++;
		p = newest_points(&t->picture, panels, series, POINTS_MAX);
		doc_heading(d, 3, "%.*s", (int)t->name.len, t->name.data ? t->name.data : "");
		doc_put_picture(d, &p);
		if (p.axis.nr < t->nr)
			doc_para(d, "Not shown: the %s oldest runs.",
				 human_exact((int64_t)(t->nr - p.axis.nr)).text);
	}
	if (left)
		doc_para(d, "Not shown: charts of %zu more jobs. The JSON list has their numbers.",
			 left);
}

/* "command: ./train.sh": the part after the kind. */
static const char *command_of(const struct bytes *selector, size_t *ret_len)
{
	static const char kind[] = "command: ";
	size_t len = strlen(kind);
	bool is = selector->len > len && !memcmp(selector->data, kind, len);

	*ret_len = is ? selector->len - len : 0;
	return is ? selector->data + len : "";
}

enum { LINE_MOST = 76 };

/* Up to so many characters of it, and an ellipsis if there are more. */
static void put_cut(FILE *out, const char *text, size_t len, size_t most)
{
	size_t end = 0;

	for (size_t nr = 0; end < len; nr++) {
		uint32_t cp;
		size_t n = escape_decode(text + end, len - end, &cp);

		if (nr + 1 >= most && len - end > 1) {
			escape_inert(out, text, end);
			fputs("…", out);
			return;
		}
		end += n ? n : 1;
	}
	escape_inert(out, text, len);
}

/* How the run ended, unless it ended well. */
static void put_state(FILE *out, const struct model_run *run)
{
	if (!bytes_is(&run->state, "complete"))
		fprintf(out, " (%.*s)", (int)run->state.len,
			run->state.data ? run->state.data : "");
	else if (run->exit_status.known && run->exit_status.value)
		fprintf(out, " (failed %" PRId64 ")", run->exit_status.value);
}

/* The names of the watched jobs, the machine, and what was run. */
static void put_names(struct doc_table *t, const struct model_run *run, const struct runs_job *jobs,
		      size_t nr)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	const char *command;
	size_t len = 0;
	long at;

	if (out) {
		for (size_t i = 0; i < nr; i++) {
			fputs(i ? ", " : "", out);
			escape_inert(out, jobs[i].job->name.data, jobs[i].job->name.len);
		}
		fputs(nr ? " on " : "no job on ", out);
		escape_inert(out, run->host.data, run->host.len);
		put_state(out, run);
		command = nr ? command_of(&jobs[0].job->selector, &len) : "";
		if (len)
			fputs(": ", out);
		at = ftell(out);
		put_cut(out, command, len, at + 20 < LINE_MOST ? (size_t)(LINE_MOST - at) : 20);
	}
	doc_cell_text(t, text_end(&b));
}

/* The title of the first finding if it is to be fixed, else what the job comes to. */
static void put_first(struct doc_table *t, const struct runs_job *j)
{
	for (enum analysis_answer a = 0; a < ANSWER_NR; a++) {
		if (a == ANSWER_FIX || !bytes_is(&j->answer, analysis_answers[a]))
			continue;
		doc_cell(t, "%s", findings_answer_text(a));
		return;
	}
	doc_cell_name(t, &j->title, "-");
}

static void put_run(struct doc_table *t, const struct model_run *run, const struct runs_job *jobs,
		    size_t nr)
{
	static const struct runs_job none = {0};
	static const struct model_job no_job = {0};
	const struct runs_job *j = nr ? jobs : &none;
	const struct counts *c = nr ? &jobs[0].job->counts : &no_job.counts;
	struct derived d;

	counts_derive(c, run->page_size_bytes.value, &d);
	put_names(t, run, jobs, nr);
	doc_cell(t, "%" PRId64, run->id);
	doc_cell(t, "%s", run->started_ns.known ? show_local(run->started_ns.value).s : "-");
	doc_cell_shown(t, show_ns(run->duration_ns));
	doc_cell_shown(t, show_ratio(j->stall_share, false));
	if (j->mapped)
		doc_cell(t, "-");
	else
		doc_cell_shown(
			t, show_least(show_ratio(d.hit_ratio, c->sliced), c->bounds & BOUND_READS));
	doc_cell_shown(t, show_score(j));
	put_first(t, j);
}

static void put_runs(struct doc *d, const struct runs_model *m, bool all)
{
	static const struct doc_column columns[] = {
		{"JOB", DOC_OWN_LINE}, {"RUN", DOC_RIGHT},	    {"STARTED", DOC_LEFT},
		{"TOOK", DOC_RIGHT},   {"WAITING", DOC_RIGHT},	    {"HITS", DOC_RIGHT},
		{"GRADE", DOC_LEFT},   {"FIRST FINDING", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t first = !all && m->nr_runs > RUNS_MAX ? m->nr_runs - RUNS_MAX : 0;
	size_t job = 0;

	for (size_t i = 0; i < m->nr_runs; i++) {
		size_t nr = 0;

		while (job + nr < m->nr_jobs && m->jobs[job + nr].run == &m->runs[i])
			nr++;
		if (i >= first)
			put_run(&t, &m->runs[i], &m->jobs[job], nr);
		job += nr;
	}
	t.things = true;
	doc_put_table(d, &t);
	if (first)
		doc_para(d, "Not shown: the %s oldest runs. The JSON list has them.",
			 human_exact((int64_t)first).text);
	if (!m->nr_runs && m->since)
		doc_para(d, "No run is so new. Without --since, all runs of the database are "
			    "listed.");
	else if (!m->nr_runs)
		doc_para(d, "The database has no runs yet.");
}

/* "run-1-job-1.html train, B 0.78" */
static void put_link(struct doc_table *t, const struct runs_job *j)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		fprintf(out, "%s ", j->report);
		escape_inert(out, j->job->name.data, j->job->name.len);
		fprintf(out, ", %s", j->letter.data ? show_score(j).s : "no grade");
	}
	doc_cell_text(t, text_end(&b));
}

static void put_command(struct doc_table *t, const struct bytes *selector)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	size_t len;
	const char *command = command_of(selector, &len);

	if (out && len)
		put_cut(out, command, len, LINE_MOST);
	else if (out)
		fputs("-", out);
	doc_cell_text(t, text_end(&b));
}

/* Newest first. */
static void put_reports(struct doc *d, const struct runs_model *m)
{
	static const struct doc_column columns[] = {
		{"JOB AND GRADE", DOC_LINK}, {"RUN", DOC_RIGHT},     {"STARTED", DOC_LEFT},
		{"TOOK", DOC_RIGHT},	     {"WAITING", DOC_RIGHT}, {"COMMAND", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	size_t without = 0;

	for (size_t i = m->nr_jobs; i-- > 0;) {
		const struct runs_job *j = &m->jobs[i];

		if (!j->report) {
			without++;
			continue;
		}
		put_link(&t, j);
		doc_cell(&t, "%" PRId64, j->run->id);
		doc_cell(&t, "%s",
			 j->run->started_ns.known ? show_local(j->run->started_ns.value).s : "-");
		doc_cell_shown(&t, show_time(j->time_s));
		doc_cell_shown(&t, show_ratio(j->stall_share, false));
		put_command(&t, &j->job->selector);
	}
	t.things = true;
	doc_put_table(d, &t);
	if (without)
		doc_para(d, "%zu job%s of older runs ha%s no report in this directory.", without,
			 without == 1 ? "" : "s", without == 1 ? "s" : "ve");
}

/* The commands that make reports. */
static void put_commands(struct doc *d, const struct runs_model *m)
{
	_cleanup_free_ char *db =
		report_again(m->default_db ? NULL : m->name, REPORT_RUN_LAST, NULL);
	_cleanup_free_ char *text = NULL;

	if (!db || asprintf(&text,
			    "cachemon report%s --run RUN -o run.html\n"
			    "cachemon runs%s --reports DIR\n",
			    db, db) < 0) {
		text = NULL;
		d->failed = true;
		return;
	}
	doc_para(d, "To write the report of one run, or a directory with this page and the reports "
		    "of the newest runs:");
	doc_code(d, "shell", text);
}

static bool any_report(const struct runs_model *m)
{
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (m->jobs[i].report)
			return true;
	return false;
}

void runs_sections(struct doc *d, const struct runs_model *m, bool all)
{
	doc_begin(d, "%s: %zu run%s, %s", m->name, m->nr_runs, m->nr_runs == 1 ? "" : "s",
		  show_bytes(m->size_bytes, false).s);
	if (m->nr_trends) {
		doc_part_begin(d, "jobs", false, "Jobs");
		put_trends(d, m, all);
		doc_part_end(d);
	}
	if (!all && m->nr_runs) {
		doc_part_begin(d, "reports", false, "Reports");
		if (any_report(m))
			put_reports(d, m);
		else
			put_commands(d, m);
		doc_part_end(d);
	}
	if (!all && m->nr_jobs > m->nr_trends) {
		doc_part_begin(d, "trends", false, "From run to run");
		put_pictures(d, m);
		doc_part_end(d);
	}
	doc_part_begin(d, "runs", false, "Runs");
	put_runs(d, m, all);
	doc_part_end(d);
}
