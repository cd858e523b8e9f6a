/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/report/run/pictures.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"
#include "cachemon/base/human.h"

/* Runs whose work differs by more did not do the same job. */
#define WORK_APART 0.1

/* A sentence as a paragraph, after the job's name if there are several. */
static void put_sentence(struct doc *d, const struct compare_model *m,
			 const struct compare_job *job, const char *text)
{
	if (m->nr_jobs > 1)
		doc_para(d, "%.*s: %s", (int)job->job[0]->name.len,
			 job->job[0]->name.data ? job->job[0]->name.data : "", text);
	else
		doc_para(d, "%c%s", toupper((unsigned char)*text), text + 1);
}

/* More runs would prove a change: how many, and the command that compares them. */
static void put_more_runs(struct doc *d, const struct compare_model *m,
			  const struct compare_job *job)
{
	size_t more = compare_runs_missing(m, job);
	struct text_builder b;
	FILE *out = more ? text_begin(&b) : NULL;
	char *text;

	if (!more)
		return;
	if (out)
		compare_command(out, m, job);
	text = text_end(&b);
	doc_para(d,
		 "To prove it, run the job %zu more time%s before and %zu after the change, in "
		 "turn:",
		 more, more == 1 ? "" : "s", more);
	if (text)
		doc_code(d, "shell", text);
	else
		d->failed = true;
	free(text);
}

/* Text begins with the verdict, a page with the picture. */
static void put_verdict(struct doc *d, const struct compare_model *m, const struct compare_job *job,
			bool page)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *text;

	if (out)
		compare_sentence(out, &job->result);
	text = text_end(&b);
	if (page)
		doc_put_picture(d, &job->pictures.answer);
	if (text)
		put_sentence(d, m, job, text);
	else
		d->failed = true;
	free(text);
	put_more_runs(d, m, job);
	compare_answer(d, job);
}

static void put_trouble(struct doc *d, const struct model_run *run)
{
	if (run->exit_status.known && run->exit_status.value)
		doc_para(d, "The command of run %" PRId64 " failed with status %" PRId64 ".",
			 run->id, run->exit_status.value);
	if (!bytes_is(&run->state, "complete"))
		doc_para(d, "Run %" PRId64 " did not end; only the recorded part is compared.",
			 run->id);
	if (run->intervals_lost.known && run->intervals_lost.value)
		doc_para(d, "%" PRId64 " intervals of run %" PRId64 " were lost.",
			 run->intervals_lost.value, run->id);
}

static void put_troubles(struct doc *d, const struct compare_model *m)
{
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < m->side[i].nr; k++)
			put_trouble(d, &m->side[i].runs[k].run);
}

/* Amounts of bytes as people read them. */
static void put_fact(struct doc_table *t, const struct compare_fact *f)
{
	static const char unit[] = ", bytes";
	size_t len = sizeof(unit) - 1;
	struct bytes name = f->what;
	bool bytes = name.len > len && !memcmp(name.data + name.len - len, unit, len);

	if (bytes)
		name.len -= len;
	doc_cell_name(t, &name, "-");
	for (int i = 0; i < 2; i++) {
		const struct bytes *v = &f->value[i];

		if (bytes && v->data)
			doc_cell(t, "%s", human_bytes(strtoull(v->data, NULL, 10)).text);
		else
			doc_cell_name(t, v, "-");
	}
}

/* Differences between the machines and measurements. */
static void put_facts(struct doc *d, const struct compare_model *m)
{
	static const struct doc_column columns[] = {
		{"DIFFERENCE", DOC_LEFT}, {"BEFORE", DOC_LEFT}, {"AFTER", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < m->nr_facts; i++)
		put_fact(&t, &m->facts[i]);
	if (m->nr_facts)
		doc_put_table(d, &t);
	else
		doc_para(d,
			 "The machine and the measurement do not differ in any recorded property.");
	put_troubles(d, m);
}

static struct shown show_work(enum compare_work work, struct opt_i64 amount)
{
	struct shown ret = {0};

	if (work == WORK_TIME)
		return show_ns(amount);
	if (work != WORK_FAULTS)
		return show_bytes(amount, false);
	snprintf(ret.s, sizeof(ret.s), "%.20s major faults", show_count(amount, false).s);
	return ret;
}

static void put_work(struct doc *d, const struct compare_result *r)
{
	static const char *const what[WORK_NR] = {
		[WORK_READ] = "read from files",
		[WORK_RCHAR] = "read by its tasks from files, pipes and sockets",
		[WORK_FAULTS] = "of its tasks (these show progress, not amount of work)",
		[WORK_TIME] = "of time (the bytes read do not measure this job's work)",
	};
	double larger = fmax(r->work_a, r->work_b);
	struct opt_i64 work[2] = {{(int64_t)r->work_a, true}, {(int64_t)r->work_b, true}};

	doc_para(d, "Work: %s before, %s after, %s.", show_work(r->work, work[0]).s,
		 show_work(r->work, work[1]).s, what[r->work]);
	if (r->per == PER_JOB)
		doc_para(d, "Figures are for the whole job, assuming that both runs did the same "
			    "work.");
	else if (r->work == WORK_TIME)
		doc_para(d, "If both runs completed the same job, use --per job to compare how "
			    "long it took.");
	else if (fabs(r->work_a - r->work_b) > WORK_APART * larger)
		doc_para(d, "The runs did different amounts of work. Compare figures per unit of "
			    "work, not totals. If both completed the same job and one merely read "
			    "less, use --per job.");
}

static void put_run(struct doc_table *t, const struct compare_model *m, int side, size_t at)
{
	const struct model_run *run = &m->side[side].runs[at].run;
	bool shown = compare_several(m) && at == m->side[side].shown;

	doc_cell(t, "%s%s", side ? "after (B)" : "before (A)", shown ? ", shown" : "");
	doc_cell(t, "%" PRId64, run->id);
	doc_cell(t, "%s", run->started_ns.known ? show_local(run->started_ns.value).s : "-");
	doc_cell_shown(t, show_ns(run->duration_ns));
	doc_cell_shown(t, show_ns(run->interval_ns));
	doc_cell_name(t, &run->level, "-");
	doc_cell_name(t, &run->state, "-");
}

static void put_runs(struct doc *d, const struct compare_model *m)
{
	static const struct doc_column columns[] = {
		{"", DOC_LEFT},	     {"RUN", DOC_RIGHT},      {"STARTED", DOC_LEFT},
		{"TOOK", DOC_RIGHT}, {"INTERVAL", DOC_RIGHT}, {"LEVEL", DOC_LEFT},
		{"STATE", DOC_LEFT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < m->side[i].nr; k++)
			put_run(&t, m, i, k);
	doc_put_table(d, &t);
	if (compare_several(m))
		doc_para(d,
			 "Figures before and after are medians of the runs. Totals, grades, "
			 "findings "
			 "and pictures below show one run of each side, the one with the median "
			 "time: run %" PRId64 " before, run %" PRId64 " after.",
			 m->model[0].run.id, m->model[1].run.id);
}

static void put_side(struct doc *d, const struct compare_picture *p)
{
	if (p->absent)
		doc_para(d, "No picture: %s.", p->absent);
	else
		doc_put_picture(d, &p->picture);
}

static void put_sides(struct doc *d, const struct compare_picture p[2])
{
	doc_pair_begin(d, "Before");
	put_side(d, &p[0]);
	doc_pair_next(d, "After");
	put_side(d, &p[1]);
	doc_pair_end(d);
}

static void put_change(struct doc *d, const struct compare_model *m, const struct compare_job *job)
{
	put_work(d, &job->result);
	compare_figures(d, job);
}

static void put_time(struct doc *d, const struct compare_model *m, const struct compare_job *job)
{
	put_sides(d, job->pictures.time);
}

static void put_sizes(struct doc *d, const struct compare_model *m, const struct compare_job *job)
{
	put_sides(d, job->pictures.windows);
	put_sides(d, job->pictures.reads);
}

static void put_curve(struct doc *d, const struct compare_model *m, const struct compare_job *job)
{
	doc_put_picture(d, &job->pictures.curve.picture);
	for (int i = 0; i < 2; i++)
		if (job->pictures.no_curve[i])
			doc_para(d, "No curve for the run %s: %s", i ? "after" : "before",
				 job->pictures.no_curve[i]);
}

static const struct part {
	const char *id, *title;
	void (*put)(struct doc *d, const struct compare_model *m, const struct compare_job *job);
} parts[] = {
	{"changed", "What changed", put_change},   {"graded", "Grades", compare_grades},
	{"found", "Findings", compare_found},	   {"time", "Over time", put_time},
	{"cache", "Other cache sizes", put_curve}, {"sizes", "Window and read sizes", put_sizes},
};

enum { NR_PARTS = sizeof(parts) / sizeof(parts[0]) };

/* A name on the page, and a title; both contain the job's own if there are several. false: no
 * memory. */
static bool name_part(const struct compare_model *m, size_t job, const struct part *p,
		      struct arena *a, struct doc_entry *ret)
{
	const struct bytes *name = &m->jobs[job].job[0]->name;

	ret->id = compare_id(a, p->id, job);
	ret->title = p->title;
	if (m->nr_jobs > 1)
		ret->title = arena_print(a, "%.*s: %s", (int)name->len,
					 name->data ? name->data : "", p->title);
	return ret->id && ret->title;
}

static void put_job(struct doc *d, const struct compare_model *m, size_t at)
{
	const struct compare_job *job = &m->jobs[at];
	struct arena a = {0};

	for (int i = 0; i < NR_PARTS; i++) {
		struct doc_entry e;

		if (!name_part(m, at, &parts[i], &a, &e)) {
			d->failed = true;
			break;
		}
		doc_part_begin(d, e.id, false, "%s", e.title);
		parts[i].put(d, m, job);
		doc_part_end(d);
	}
	arena_free(&a);
}

static void put_judged(struct doc *d, const struct compare_model *m)
{
	doc_part_begin(d, "judged", true, "Method");
	for (int test = 0; test < TEST_NR; test++)
		for (size_t i = 0; i < m->nr_jobs; i++)
			if (m->jobs[i].result.test == (enum compare_test)test) {
				doc_para(d, "%s", compare_method((enum compare_test)test));
				break;
			}
	doc_para(d,
		 "Spread is the standard deviation of the %s. A difference is real when its "
		 "adjusted p is at most %.2g. It matters when it is at least 5 %% of the value "
		 "before; for a ratio, 1 point (5 points for prefetch accuracy, coverage and "
		 "timeliness); for a stall, 1 %% of the time.",
		 compare_several(m) ? "runs"
				    : "cells, each scaled to the whole run; a run with few "
				      "intervals has larger cells",
		 COMPARE_LEVEL);
	doc_part_end(d);
}

/* "run 3", "runs 3, 4, 5" */
static void say_runs(FILE *out, const struct compare_side *s)
{
	fprintf(out, "run%s ", s->nr > 1 ? "s" : "");
	for (size_t i = 0; i < s->nr; i++)
		fprintf(out, "%s%" PRId64, i ? ", " : "", s->runs[i].run.id);
}

static void put_title(struct doc *d, const struct compare_model *m)
{
	const struct bytes *name = &m->jobs[0].job[0]->name;
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *runs;

	if (out) {
		say_runs(out, &m->side[0]);
		fputs(" before, ", out);
		say_runs(out, &m->side[1]);
		fputs(" after", out);
	}
	runs = text_end(&b);
	doc_begin(d, "cachemon compare: %.*s, %s", m->nr_jobs > 1 ? 12 : (int)name->len,
		  m->nr_jobs > 1 ? "several jobs"
		  : name->data	 ? name->data
				 : "",
		  runs ? runs : "");
	d->failed = d->failed || !runs;
	free(runs);
}

void compare_sections(struct doc *d, const struct compare_model *m, bool page)
{
	put_title(d, m);
	if (m->same) {
		doc_para(d, "Run %" PRId64 " is compared with itself: nothing can differ.",
			 m->model[0].run.id);
		return;
	}
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_verdict(d, m, &m->jobs[i], page);
	put_runs(d, m);
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!bytes_equal(&m->jobs[i].job[0]->name, &m->jobs[i].job[1]->name))
			doc_para(d, "In the run after, the job is named %.*s.",
				 (int)m->jobs[i].job[1]->name.len,
				 m->jobs[i].job[1]->name.data ? m->jobs[i].job[1]->name.data : "");
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_job(d, m, i);
	doc_part_begin(d, "machine", false, "Other differences");
	put_facts(d, m);
	doc_part_end(d);
	put_judged(d, m);
}
