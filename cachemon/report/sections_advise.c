/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/data.h"
#include "report/escape.h"
#include "report/show.h"

static void put_evidence(struct doc *d, const struct finding *f)
{
	static const struct doc_column columns[] = {
		{"EVIDENCE", DOC_LEFT},
		{"VALUE", DOC_RIGHT},
		{"UNIT", DOC_LEFT},
		{"OF", DOC_LEFT},
	};
	struct doc_table t = doc_table(NULL, columns, 4);

	for (size_t i = 0; i < f->nr_evidence; i++) {
		const struct evidence *e = &f->evidence[i];

		doc_cell(&t, "%s", e->metric);
		doc_cell(&t, "%s", e->value ? e->value : "-");
		doc_cell(&t, "%s", e->unit);
		doc_cell(&t, "%s", e->scope);
	}
	doc_put_table(d, &t);
}

static void put_action(struct doc *d, const struct note *n)
{
	if (!n)
		return;
	doc_para(d, "What to do: %s", n->action);
	for (size_t i = 0; i < n->nr_snippets; i++)
		doc_code(d, n->snippets[i].language, n->snippets[i].code);
	doc_para(d, "Risk: %s.", n->risk);
	doc_para(d, "Undo: %s.", n->undo);
	doc_para(d, "Verify: %s.", n->verify);
}

static void put_finding(struct doc *d, const struct finding *f, size_t number)
{
	char *subject = escape_inert_copy(f->subject.data, f->subject.len);

	if (!subject) {
		d->failed = true;
		return;
	}
	doc_heading(d, 3, "%zu. %s (%s, %s)%s%s", number, f->rule->title, f->rule->id,
		    severity_names[f->severity], f->kind == SUBJECT_JOB ? "" : ": ",
		    f->kind == SUBJECT_JOB ? ""
		    : f->subject.data	   ? subject
					   : "files without a name");
	free(subject);
	doc_para(d, "%s. Gain: %s; confidence %.2f.", f->summary, advice_gain(&f->gain).s,
		 f->confidence);
	put_evidence(d, f);
	for (const struct finding *m = f->merged; m; m = m->merged)
		doc_para(d, "Of the same cause: %s: %s.", m->rule->id, m->summary);
	put_action(d, f->note);
}

static void put_job(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = advice_of(m, job);
	char *name = escape_inert_copy(job->name.data, job->name.len);
	bool bytes = false;

	doc_heading(d, 2, "Job %s", name ? name : "-");
	free(name);
	if (!a->nr_findings)
		doc_para(d, "No rule found anything.");
	for (size_t i = 0; i < a->nr_findings; i++) {
		put_finding(d, &a->findings[i], i + 1);
		bytes = bytes ||
			(a->findings[i].gain.known && a->findings[i].gain.unit == GAIN_BYTES);
	}
	if (bytes && a->nr_findings > 1)
		doc_para(d, "What gains most comes first. %s", a->rate.method);
	sections_grades(d, m, job);
	sections_verdicts(d, m, job);
	sections_not_judged(d, m, job);
}

void sections_advise(struct doc *d, const struct model *m)
{
	const struct model_job *main_job = model_main_job(m);
	char *job = main_job ? escape_inert_copy(main_job->name.data, main_job->name.len) : NULL;
	char *host = escape_inert_copy(m->run.host.data, m->run.host.len);

	doc_begin(d, "cachemon advise: %s, run %" PRId64 " on %s", job ? job : "no job", m->run.id,
		  host ? host : "-");
	free(job);
	free(host);
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (advice_of(m, &m->jobs[i]))
			put_job(d, m, &m->jobs[i]);
	sections_problems(d, m);
}

static void csv_row(FILE *out, const struct model_job *job, const struct finding *f,
		    const struct finding *greater)
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
	fprintf(out, ",%s\n", greater ? greater->rule->id : "");
}

int csv_advise(FILE *out, const struct model *m)
{
	fputs("job,id,severity,confidence,subject_kind,subject,summary,gain_value,gain_unit,"
	      "gain_method,merged_into\n",
	      out);
	for (size_t j = 0; j < m->nr_jobs; j++) {
		const struct analysis_job *a = advice_of(m, &m->jobs[j]);

		for (size_t i = 0; a && i < a->nr_findings; i++) {
			csv_row(out, &m->jobs[j], &a->findings[i], NULL);
			for (const struct finding *l = a->findings[i].merged; l; l = l->merged)
				csv_row(out, &m->jobs[j], l, &a->findings[i]);
		}
	}
	return ferror(out) ? -EIO : 0;
}
