/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/findings.h"

#include "cachemon/base/escape.h"
#include "cachemon/figures/show.h"

enum { TO_CHANGE = 3, ADVICE_MAX = 20 };

const struct analysis_job *findings_of(const struct model *m, const struct model_job *job)
{
	return m->analysis ? analysis_job_of(m->analysis, job->id) : NULL;
}

/* "4.2 s", "1.2 GiB" */
static struct shown gain_amount(const struct gain *g)
{
	double scaled = g->unit == GAIN_SECONDS ? g->value * 1e9 : g->value;
	struct opt_i64 value = {.known = g->known && scaled < 9e18};

	value.value = value.known ? (int64_t)(scaled + 0.5) : 0;
	return g->unit == GAIN_SECONDS ? show_ns(value) : show_bytes(value, false);
}

struct gain_text finding_gain(const struct gain *g)
{
	static const char *const before[GAIN_METHOD_NR] = {"", "about ", "at most "};
	struct gain_text ret = {"not known"};

	if (g->known)
		snprintf(ret.s, sizeof(ret.s), "%s%s (%s)", before[g->method], gain_amount(g).s,
			 gain_method_names[g->method]);
	return ret;
}

struct gain_text finding_gain_range(const struct gain *g)
{
	struct gain low = *g;
	struct gain high = *g;
	struct gain_text ret = {""};

	if (!g->known || g->method == GAIN_BOUND)
		return ret;
	low.value /= GAIN_FACTOR;
	high.value *= GAIN_FACTOR;
	snprintf(ret.s, sizeof(ret.s), "%s to %s in most cases", gain_amount(&low).s,
		 gain_amount(&high).s);
	return ret;
}

void sections_problems(struct doc *d, const struct model *m)
{
	for (size_t i = 0; m->analysis && i < m->analysis->rules.nr_problems; i++)
		doc_para(d, "A rule could not be used: %s.", m->analysis->rules.problems[i]);
}

void sections_to_change(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	size_t first = TO_CHANGE;

	for (size_t i = 0; i < a->nr_findings && i < first; i++)
		sections_finding(d, &a->findings[i], i + 1);
	if (!a->nr_findings)
		doc_para(d, "No rule found anything; see below which of them could not be judged.");
	if (a->nr_findings > first) {
		doc_fold_begin(d, "%zu more", a->nr_findings - first);
		for (size_t i = first; i < a->nr_findings; i++)
			sections_finding(d, &a->findings[i], i + 1);
		doc_fold_end(d);
	}
	sections_problems(d, m);
}

void sections_passed(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"LOOKED FOR, NOT FOUND", DOC_LEFT},
		{"WHICH IS", DOC_WRAP},
	};
	struct doc_table t = doc_table(NULL, columns, 2);
	const struct analysis_job *a = findings_of(m, job);

	for (size_t i = 0; i < m->analysis->rules.nr_rules; i++) {
		const struct rule *rule = &m->analysis->rules.rules[i];

		if (!analysis_passed(m->analysis, a, rule))
			continue;
		doc_cell(&t, "%s", rule->id);
		doc_cell(&t, "%s", rule->title);
	}
	if (!t.nr_cells)
		doc_para(d, "Every rule was found, or could not be judged.");
	doc_put_table(d, &t);
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
