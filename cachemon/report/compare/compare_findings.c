/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "cachemon/figures/show.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/run/findings.h"

const char *const finding_fate_names[FINDING_FATE_NR] = {
	[FINDING_STILL] = "still there",
	[FINDING_NEW] = "new",
	[FINDING_GONE] = "gone",
	[FINDING_UNJUDGED] = "not judged",
};

static bool same_subject(const struct finding *a, const struct finding *b)
{
	return !strcmp(a->rule->id, b->rule->id) && a->kind == b->kind &&
	       bytes_equal(&a->subject, &b->subject);
}

/* Findings that were merged count too. */
static const struct finding *find_finding(const struct analysis_job *j,
					  const struct finding *wanted)
{
	for (size_t i = 0; j && i < j->nr_findings; i++)
		for (const struct finding *f = &j->findings[i]; f; f = f->merged)
			if (same_subject(f, wanted))
				return f;
	return NULL;
}

static const char *why_unjudged(const struct analysis *a, int64_t job_id, const struct rule *rule)
{
	if (!a || !analysis_job_of(a, job_id))
		return "the run could not be analysed";
	for (size_t i = 0; i < a->nr_unjudged; i++)
		if (a->unjudged[i].job_id == job_id && !strcmp(a->unjudged[i].rule->id, rule->id))
			return a->unjudged[i].reason;
	return NULL;
}

/* A summary of the others is not a finding of its own. */
static bool is_summary(const struct finding *f)
{
	return f->rule->order == ORDER_LAST;
}

static size_t count_findings(const struct analysis_job *j)
{
	size_t nr = 0;

	for (size_t i = 0; j && i < j->nr_findings; i++)
		for (const struct finding *f = &j->findings[i]; f; f = f->merged)
			nr++;
	return nr;
}

/* Findings of one run with their match in the other; both: those in both runs. */
static void add_findings(const struct analysis *const analysis[2],
			 const struct model_job *const job[2], int which, bool both,
			 struct compare_finding *list, size_t *nr)
{
	const struct analysis_job *j[2];

	for (int i = 0; i < 2; i++)
		j[i] = analysis[i] ? analysis_job_of(analysis[i], job[i]->id) : NULL;
	for (size_t i = 0; j[which] && i < j[which]->nr_findings; i++)
		for (const struct finding *f = &j[which]->findings[i]; f; f = f->merged) {
			const struct finding *other = find_finding(j[!which], f);
			struct compare_finding c = {.fate = which ? FINDING_NEW : FINDING_GONE};

			if (is_summary(f) || !other != !both)
				continue;
			c.of[which] = f;
			c.of[!which] = other;
			if (other)
				c.fate = FINDING_STILL;
			else
				c.unjudged =
					why_unjudged(analysis[!which], job[!which]->id, f->rule);
			if (c.unjudged)
				c.fate = FINDING_UNJUDGED;
			list[(*nr)++] = c;
		}
}

const struct finding *compare_finding_shown(const struct compare_finding *c)
{
	return c->of[1] ? c->of[1] : c->of[0];
}

/* The one that it is listed under; NULL: none. */
static const struct compare_finding *above(const struct compare_finding *list, size_t nr,
					   const struct compare_finding *c)
{
	const struct finding *into = compare_finding_shown(c)->merged_into;

	for (size_t i = 0; into && i < nr; i++)
		if (list[i].of[0] == into || list[i].of[1] == into)
			return &list[i];
	return NULL;
}

/* In the other run, a finding may be merged into one that is merged later. */
static const struct compare_finding *topmost(const struct compare_finding *list, size_t nr,
					     const struct compare_finding *c)
{
	for (const struct compare_finding *up = c; up; up = above(list, nr, up))
		c = up;
	return c;
}

/* Lists merged findings under the one that stays. */
static void put_merged_behind(const struct compare_finding *list, size_t nr,
			      struct compare_finding *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < nr; i++) {
		if (topmost(list, nr, &list[i]) != &list[i])
			continue;
		ret[at++] = list[i];
		for (size_t k = 0; k < nr; k++)
			if (k != i && topmost(list, nr, &list[k]) == &list[i])
				ret[at++] = list[k];
	}
}

void compare_findings_make(struct arena *a, const struct analysis *const analysis[2],
			   const struct model_job *const job[2], struct compare_finding **ret,
			   size_t *ret_nr)
{
	struct compare_finding *list;
	size_t room = 1;
	size_t nr = 0;

	for (int i = 0; i < 2; i++)
		if (analysis[i])
			room += count_findings(analysis_job_of(analysis[i], job[i]->id));
	list = arena_alloc(a, room * sizeof(*list));
	*ret = arena_alloc(a, room * sizeof(**ret));
	*ret_nr = 0;
	if (!list || !*ret)
		return;
	add_findings(analysis, job, 1, true, list, &nr);
	add_findings(analysis, job, 1, false, list, &nr);
	add_findings(analysis, job, 0, false, list, &nr);
	put_merged_behind(list, nr, *ret);
	*ret_nr = nr;
}

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
	struct doc_table t = DOC_TABLE("Not tested, because there is one value per run", columns);

	for (int i = 0; i < GRADE_NR; i++) {
		const struct analysis_grade *a = grade_of(m, job, 0, i);
		const struct analysis_grade *b = grade_of(m, job, 1, i);

		doc_cell(&t, "%s", grade_titles[i]);
		doc_cell_shown(&t, letter_of(a));
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

void compare_found(struct doc *d, const struct compare_model *m, const struct compare_job *job)
{
	static const char *const shapes[FINDING_FATE_NR] = {"=", "+", "✓", "-"};
	static const struct doc_column columns[] = {
		{"FINDING", DOC_OWN_LINE},
		{"", DOC_LEFT},
		{"BEFORE", DOC_WRAP},
		{"AFTER", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE("Severity and gain of each finding", columns);

	for (size_t i = 0; i < job->nr_findings; i++) {
		const struct compare_finding *c = &job->findings[i];
		const struct finding *f = compare_finding_shown(c);

		doc_cell(&t, "%s%s (%s)%s%.*s", f->merged_into ? "of the same cause: " : "",
			 f->rule->title, f->rule->id, f->subject.data ? ": " : "",
			 (int)f->subject.len, f->subject.data ? f->subject.data : "");
		doc_cell(&t, "%s %s", shapes[c->fate], finding_fate_names[c->fate]);
		put_found(&t, c->of[0]);
		put_found(&t, c->of[1]);
	}
	doc_put_table(d, &t);
	if (!job->nr_findings)
		doc_para(d, "Neither run has a finding.");
	for (size_t i = 0; i < job->nr_findings; i++) {
		const struct compare_finding *c = &job->findings[i];
		const struct finding *f = compare_finding_shown(c);

		if (c->unjudged)
			doc_para(d, "%s could not be judged in the run %s: %s.", f->rule->id,
				 c->of[0] ? "after" : "before", c->unjudged);
	}
}
