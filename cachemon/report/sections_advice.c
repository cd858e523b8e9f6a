/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/advice.h"

#include "report/escape.h"
#include "report/show.h"

enum { TO_CHANGE = 3, ADVICE_MAX = 20 };

const struct analysis_job *advice_of(const struct model *m, const struct model_job *job)
{
	return m->analysis ? analysis_job_of(m->analysis, job->id) : NULL;
}

struct gain_text advice_gain(const struct gain *g)
{
	static const char *const before[GAIN_METHOD_NR] = {"", "about ", "at most "};
	struct gain_text ret = {"not known"};
	struct opt_i64 value = {.known = true};
	double scaled = g->unit == GAIN_SECONDS ? g->value * 1e9 : g->value;

	if (!g->known || scaled > 9e18)
		return ret;
	value.value = (int64_t)(scaled + 0.5);
	snprintf(ret.s, sizeof(ret.s), "%s%s (%s)", before[g->method],
		 g->unit == GAIN_SECONDS ? show_ns(value).s : show_bytes(value, false).s,
		 gain_method_names[g->method]);
	return ret;
}

/* "/data/train", "the files without a name"; of a job nothing. */
static const struct bytes *subject_of(const struct finding *f)
{
	static const struct bytes nameless = {"files without a name", 20};
	static const struct bytes job = {"the job", 7};

	if (f->kind == SUBJECT_JOB)
		return &job;
	return f->subject.data ? &f->subject : &nameless;
}

static size_t nr_to_change(const struct analysis_job *a)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_findings; i++)
		nr += a->findings[i].severity != SEVERITY_INFO;
	return nr;
}

static void put_rows(struct doc_table *t, const struct analysis_job *a, size_t max)
{
	for (size_t i = 0; i < a->nr_findings && i < max; i++) {
		const struct finding *f = &a->findings[i];

		doc_cell_name(t, subject_of(f), "-");
		doc_cell(t, "%s", severity_names[f->severity]);
		doc_cell(t, "%s", advice_gain(&f->gain).s);
		doc_cell(t, "%s: %s", f->rule->id, f->summary);
	}
}

void sections_problems(struct doc *d, const struct model *m)
{
	for (size_t i = 0; m->analysis && i < m->analysis->rules.nr_problems; i++)
		doc_para(d, "A rule could not be used: %s.", m->analysis->rules.problems[i]);
}

void sections_to_change(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"WHERE", DOC_OWN_LINE},
		{"SEVERITY", DOC_LEFT},
		{"GAIN", DOC_LEFT},
		{"WHAT", DOC_WRAP},
	};
	const struct analysis_job *a = advice_of(m, job);
	struct doc_table t = doc_table(NULL, columns, 4);
	size_t nr;

	if (!a)
		return;
	nr = nr_to_change(a);
	doc_heading(d, 2, "What to change");
	put_rows(&t, a, nr ? TO_CHANGE : a->nr_findings);
	doc_put_table(d, &t);
	if (!a->nr_findings)
		doc_para(d, "No rule found anything; see below which of them could not be judged.");
	if (nr > TO_CHANGE)
		doc_para(d, "%zu more findings, and what to do about each: cachemon advise.",
			 nr - TO_CHANGE);
	else if (nr)
		doc_para(d, "What to do about each: cachemon advise.");
	sections_problems(d, m);
}

void sections_not_judged(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"COULD NOT BE JUDGED", DOC_LEFT},
		{"BECAUSE", DOC_WRAP},
	};
	struct doc_table t = doc_table(NULL, columns, 2);

	for (size_t i = 0; m->analysis && i < m->analysis->nr_unjudged; i++) {
		const struct analysis_unjudged *u = &m->analysis->unjudged[i];

		if (u->job_id != job->id)
			continue;
		doc_cell(&t, "%s", u->rule->id);
		doc_cell(&t, "%s", u->reason);
	}
	doc_put_table(d, &t);
}

void sections_verdicts(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"ADVICE ON", DOC_OWN_LINE},
		{"KIND", DOC_LEFT},
		{"VERDICT", DOC_LEFT},
		{"BECAUSE", DOC_WRAP},
	};
	struct doc_table t = doc_table("Advice calls", columns, 4);

	for (size_t i = 0; m->analysis && i < job->nr_advice && i < ADVICE_MAX; i++) {
		const struct analysis_verdict *v =
			analysis_verdict_of(m->analysis, job->advice[i].id);

		if (!v)
			continue;
		doc_cell_name(&t, &job->advice[i].path, "-");
		doc_cell_name(&t, &job->advice[i].kind, "-");
		doc_cell(&t, "%s", v->verdict ? v->verdict : "-");
		doc_cell(&t, "%s", v->why);
	}
	doc_put_table(d, &t);
}
