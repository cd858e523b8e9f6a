/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_model.h"

#include "cachemon/report/run/findings.h"
#include "cachemon/figures/show.h"

/* "B 0.84" */
static struct shown letter_of(const struct analysis_grade *g)
{
	struct shown ret = {.s = "-"};

	if (g && g->letter)
		snprintf(ret.s, sizeof(ret.s), "%s %.40s", g->letter, show_double(g->score, 2).s);
	return ret;
}

static const struct analysis_grade *grade_of(const struct compare_model *m,
					     const struct compare_job *job, int which, int grade)
{
	const struct analysis_job *a = findings_of(&m->model[which], job->job[which]);

	return a ? &a->grades[grade] : NULL;
}

void compare_grades(struct doc *d, const struct compare_model *m, const struct compare_job *job)
{
	static const struct doc_column columns[] = {{"GRADE", DOC_LEFT},
						    {"BEFORE", DOC_LEFT},
						    {"AFTER", DOC_LEFT},
						    {"DIFFERENCE", DOC_RIGHT},
						    {"MARK", DOC_LEFT}};
	struct doc_table t =
		doc_table("One value a run, so what of it is chance was not judged", columns, 5);

	for (int i = 0; i < GRADE_NR; i++) {
		const struct analysis_grade *a = grade_of(m, job, 0, i);
		const struct analysis_grade *b = grade_of(m, job, 1, i);

		doc_cell(&t, "%s", grade_names[i]);
		doc_cell(&t, "%s", letter_of(a).s);
		doc_cell(&t, "→ %s", letter_of(b).s);
		if (a && b && a->score.known && b->score.known)
			doc_cell(&t, "%+.2f", b->score.value - a->score.value);
		else
			doc_cell(&t, "-");
		doc_cell(&t, "- not judged");
	}
	doc_put_table(d, &t);
}

/* "high, about 4.2 s (model)" */
static void put_found(struct doc_table *t, const struct finding *f)
{
	if (f)
		doc_cell(t, "%s, %s", severity_names[f->severity], finding_gain(&f->gain).s);
	else
		doc_cell(t, "-");
}

void compare_found(struct doc *d, const struct compare_job *job)
{
	static const char *const shapes[FINDING_FATE_NR] = {"=", "+", "✓", "-"};
	static const struct doc_column columns[] = {
		{"FINDING", DOC_OWN_LINE},
		{"", DOC_LEFT},
		{"BEFORE", DOC_WRAP},
		{"AFTER", DOC_WRAP},
	};
	struct doc_table t = doc_table("How bad, and what changing it would gain", columns, 4);

	for (size_t i = 0; i < job->nr_findings; i++) {
		const struct compare_finding *c = &job->findings[i];
		const struct finding *f = c->of[1] ? c->of[1] : c->of[0];

		doc_cell(&t, "%s (%s)%s%.*s", f->rule->title, f->rule->id,
			 f->subject.data ? ": " : "", (int)f->subject.len,
			 f->subject.data ? f->subject.data : "");
		doc_cell(&t, "%s %s", shapes[c->fate], finding_fate_names[c->fate]);
		put_found(&t, c->of[0]);
		put_found(&t, c->of[1]);
	}
	doc_put_table(d, &t);
	if (!job->nr_findings)
		doc_para(d, "Nothing was found in either run.");
	for (size_t i = 0; i < job->nr_findings; i++) {
		const struct compare_finding *c = &job->findings[i];
		const struct finding *f = c->of[1] ? c->of[1] : c->of[0];

		if (c->unjudged)
			doc_para(d, "%s: %s the rule was not judged: %s.", f->rule->id,
				 c->of[0] ? "after," : "before,", c->unjudged);
	}
}
