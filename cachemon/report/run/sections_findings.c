/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/data.h"
#include "cachemon/report/run/sections.h"
#include "cachemon/report/run/snippets.h"
#include "cachemon/report/run/wording.h"

enum { TO_CHANGE = 3, ADVICE_MAX = 20 };

const struct analysis_job *findings_of(const struct model *m, const struct model_job *job)
{
	return m->analysis ? analysis_job_of(m->analysis, job->id) : NULL;
}

const struct analysis_model *findings_models(const struct model *m, const struct model_job *job)
{
	return m->analysis ? analysis_model_of(m->analysis, job->id) : NULL;
}

struct opt_i64 findings_without_waiting(const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	struct opt_i64 ret = {.known = a && a->ceiling.overall.known && job->wall_ns.known};

	if (ret.known)
		ret.value = (int64_t)((double)job->wall_ns.value * a->ceiling.overall.value + 0.5);
	return ret;
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

/* "2.8 s to 6.3 s in most cases"; "" for a bound, which already says so. */
static struct gain_text gain_range(const struct gain *g)
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

/* Errors in a site's rules. */
static void put_problems(struct doc *d, const struct model *m)
{
	for (size_t i = 0; m->analysis && i < m->analysis->rules.nr_problems; i++)
		doc_para(d, "A rule is invalid: %s.", m->analysis->rules.problems[i]);
}

/* Four digits, or as many as distinguish 0.99998 from 1. */
static void put_rounded(struct doc_table *t, double value)
{
	char text[32];

	for (int digits = 4; digits < 10; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strchr(text, '.'))
			break;
	}
	doc_cell(t, "%s", text);
}

/* Counts with thousands separators; other values as from the rule. */
static void put_value(struct doc_table *t, const char *value)
{
	size_t digits = value ? strspn(value, "0123456789") : 0;

	if (digits && digits < 19 && !value[digits])
		doc_cell(t, "%s", human_exact(strtoll(value, NULL, 10)).text);
	else if (digits && digits < 5 && value[digits] == '.')
		put_rounded(t, strtod(value, NULL));
	else
		doc_cell(t, "%s", value ? value : "-");
}

static void put_evidence(struct doc *d, const struct finding *f)
{
	static const struct doc_column columns[] = {
		{"EVIDENCE", DOC_LEFT},
		{"VALUE", DOC_RIGHT},
		{"UNIT", DOC_LEFT},
		{"OF", DOC_LEFT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < f->nr_evidence; i++) {
		const struct evidence *e = &f->evidence[i];

		doc_cell(&t, "%s", e->metric);
		put_value(&t, e->value);
		doc_cell(&t, "%s", e->unit);
		doc_cell(&t, "%s", e->scope);
	}
	doc_put_table(d, &t);
}

/* A command can be tried at once; code needs a place. */
static void put_snippets(struct doc *d, const struct snippet_of *of, bool commands)
{
	const struct note *n = of->finding->note;

	for (size_t i = 0; i < n->nr_snippets; i++) {
		const char *language = n->snippets[i].language;
		bool command = language && !strcmp(language, "shell");

		char *code = NULL;

		if (command != commands)
			continue;
		d->failed = d->failed || snippet_fill(of, &n->snippets[i], &code);
		if (!code)
			continue;
		if (!command)
			doc_fold_begin(d, "In %s",
				       language && !strcmp(language, "c") ? "C" : "Python");
		doc_code(d, language, code);
		free(code);
		if (!command)
			doc_fold_end(d);
	}
}

static void put_action(struct doc *d, const struct snippet_of *of)
{
	const struct note *n = of->finding->note;

	if (!n)
		return;
	doc_words(d, "What to do: %s", n->action);
	put_snippets(d, of, true);
	put_snippets(d, of, false);
	doc_words(d, "Risk: %s.", n->risk);
	doc_words(d, "Undo: %s.", n->undo);
	doc_words(d, "Verify: %s.", n->verify);
}

/* Evidence and actions. number: of the job's findings, from 1. */
static void put_finding(struct doc *d, const struct snippet_of *of, size_t number)
{
	const struct finding *f = of->finding;
	char *subject = f->subject.data ? strndup(f->subject.data, f->subject.len)
					: strdup("files without a name");
	struct gain_text gain = finding_gain(&f->gain);
	struct gain_text range = gain_range(&f->gain);
	char *title = NULL;
	char *text = NULL;

	if (!subject || asprintf(&title, "%zu. %s", number, f->rule->title) < 0 ||
	    asprintf(&text, "%s. Confidence %.2f.", f->summary, f->confidence) < 0) {
		d->failed = true;
	} else {
		const struct doc_card card = {
			.id = f->rule->id,
			.severity = severity_names[f->severity],
			.title = title,
			.subject = f->kind == SUBJECT_JOB ? NULL : subject,
			.gain = gain.s,
			.gain_range = *range.s ? range.s : NULL,
			.text = text,
		};

		doc_card_begin(d, &card);
		put_action(d, of);
		doc_fold_begin(d, "Evidence");
		put_evidence(d, f);
		for (const struct finding *m = f->merged; m; m = m->merged)
			doc_para(d, "Same cause: %s: %s.", m->rule->id, m->summary);
		doc_fold_end(d);
		doc_card_end(d);
	}
	free(subject);
	free(title);
	free(text);
}

/* Says so if there is nothing to fix. */
static void put_answer(struct doc *d, const struct model *m, const struct analysis_job *a)
{
	const char *text = findings_answer(m, a);

	if (*text)
		doc_para(d, "%s.", text);
}

void sections_to_change(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	size_t first = a->nr_fixes < TO_CHANGE ? a->nr_fixes : TO_CHANGE;

	put_answer(d, m, a);
	for (size_t i = 0; i < first; i++)
		put_finding(d, &(struct snippet_of){m, job, &a->findings[i]}, i + 1);
	if (a->nr_fixes > first) {
		doc_fold_begin(d, "%zu more", a->nr_fixes - first);
		for (size_t i = first; i < a->nr_fixes; i++)
			put_finding(d, &(struct snippet_of){m, job, &a->findings[i]}, i + 1);
		doc_fold_end(d);
	}
	if (a->nr_findings > a->nr_fixes) {
		doc_fold_begin(d, "Worth knowing (%zu)", a->nr_findings - a->nr_fixes);
		for (size_t i = a->nr_fixes; i < a->nr_findings; i++)
			put_finding(d, &(struct snippet_of){m, job, &a->findings[i]}, i + 1);
		doc_fold_end(d);
	}
	put_problems(d, m);
}

void sections_passed(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"NOT FOUND", DOC_LEFT},
		{"WHICH IS", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	const struct analysis_job *a = findings_of(m, job);

	for (size_t i = 0; i < m->analysis->rules.nr_rules; i++) {
		const struct rule *rule = &m->analysis->rules.rules[i];

		if (!analysis_passed(m->analysis, a, rule))
			continue;
		doc_cell(&t, "%s", rule->id);
		doc_cell(&t, "%s", rule->title);
	}
	if (!t.nr_cells)
		doc_para(d, "All other rules are listed as findings or could not be judged.");
	doc_put_table(d, &t);
}

void sections_not_judged(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"COULD NOT BE JUDGED", DOC_LEFT},
		{"BECAUSE", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

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
	struct doc_table t = DOC_TABLE("Advice calls", columns);

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

static void put_advised_job(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	char *name = escape_inert_copy(job->name.data, job->name.len);
	bool bytes = false;

	doc_heading(d, 2, "Job %s", name ? name : "-");
	free(name);
	put_answer(d, m, a);
	for (size_t i = 0; i < a->nr_findings; i++) {
		put_finding(d, &(struct snippet_of){m, job, &a->findings[i]}, i + 1);
		bytes = bytes ||
			(a->findings[i].gain.known && a->findings[i].gain.unit == GAIN_BYTES);
	}
	if (bytes && a->nr_findings > 1)
		doc_para(d, "Findings with the largest gain come first. %s", a->scale.rate.method);
	doc_heading(d, 3, "Changes over time");
	sections_series(d, m, job);
	if (m->wording && m->wording->job_id == job->id) {
		doc_heading(d, 3, "Explanation by a model");
		sections_wording(d, m->wording);
	}
	sections_grades(d, m, job);
	sections_directory_grades(d, m, job);
	sections_verdicts(d, m, job);
	sections_not_judged(d, m, job);
}

void sections_advise(struct doc *d, const struct model *m)
{
	sections_title(d, m, "advise");
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (findings_of(m, &m->jobs[i]))
			put_advised_job(d, m, &m->jobs[i]);
	put_problems(d, m);
}

static void csv_finding(FILE *out, const struct model_job *job, const struct finding *f)
{
	const struct bytes summary = {f->summary, strlen(f->summary)};

	csv_text(out, &job->name);
	fprintf(out, ",%s,%s,%.4f,%s,", f->rule->id, severity_names[f->severity], f->confidence,
		subject_names[f->kind]);
	csv_text(out, &f->subject);
	putc(',', out);
	csv_text(out, &summary);
	if (f->gain.known)
		fprintf(out, ",%.17g,%s,%s", f->gain.value, gain_unit_names[f->gain.unit],
			gain_method_names[f->gain.method]);
	else
		fputs(",,,", out);
	fprintf(out, ",%s\n", f->merged_into ? f->merged_into->rule->id : "");
}

int csv_advise(FILE *out, const struct model *m)
{
	fputs("job,id,severity,confidence,subject_kind,subject,summary,gain_value,gain_unit,"
	      "gain_method,merged_into\n",
	      out);
	for (size_t j = 0; j < m->nr_jobs; j++) {
		const struct analysis_job *a = findings_of(m, &m->jobs[j]);

		for (size_t i = 0; a && i < a->nr_findings; i++) {
			csv_finding(out, &m->jobs[j], &a->findings[i]);
			for (const struct finding *l = a->findings[i].merged; l; l = l->merged)
				csv_finding(out, &m->jobs[j], l);
		}
	}
	return ferror(out) ? -EIO : 0;
}
