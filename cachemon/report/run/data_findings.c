/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/report/run/data.h"
#include "cachemon/report/run/snippets.h"
#include "cachemon/report/run/wording.h"

/* NULL: not analysed. */
static void put_grades(struct tree *t, const struct analysis_grade *grades)
{
	tree_object(t, "grades");
	for (int i = 0; i < GRADE_NR; i++)
		tree_string(t, grade_names[i], grades ? grades[i].letter : NULL);
	tree_end(t);
	if (!grades)
		return;
	tree_array(t, "grade_details");
	for (int i = 0; i < GRADE_NR; i++) {
		tree_object(t, NULL);
		tree_string(t, "name", grade_names[i]);
		tree_string(t, "grade", grades[i].letter);
		tree_opt_double(t, "score", grades[i].score);
		tree_string(t, "formula", grades[i].letter ? grades[i].formula : NULL);
		tree_string(t, "reason", grades[i].letter ? NULL : grades[i].formula);
		tree_end(t);
	}
	tree_end(t);
}

void data_directory_grades(struct tree *t, const struct model *m, int64_t id)
{
	const struct analysis_directory *d =
		m->analysis ? analysis_directory_of(m->analysis, id) : NULL;

	put_grades(t, d ? d->grades : NULL);
}

/* The grades of directories. A report has them next to the counters instead. */
static void put_directories(struct tree *t, const struct model *m, const struct model_job *job)
{
	tree_array(t, "directories");
	for (size_t i = 0; i < job->nr_directories; i++) {
		const struct model_directory *d = &job->directories[i];

		tree_object(t, NULL);
		tree_name(t, "path", &d->path);
		data_directory_grades(t, m, d->id);
		tree_end(t);
	}
	tree_end(t);
}

static void put_ceiling(struct tree *t, const struct analysis_job *a)
{
	const struct ceiling *c = &a->ceiling;

	tree_object(t, "accelerator_ceiling");
	tree_opt_double(t, "overall", c->overall);
	tree_opt_double(t, "after_first_epoch", c->after_first_epoch);
	tree_opt_double(t, "epochs", c->epochs);
	tree_string(t, "line", c->line);
	tree_bool(t, "stalls_overlap", a->several);
	tree_string(t, "reason", c->reason);
	tree_end(t);
}

void data_evidence(struct tree *t, const struct evidence *e)
{
	tree_text(t, "metric", e->metric);
	if (e->is_text)
		tree_text(t, "value", e->value);
	else if (e->value)
		tree_number(t, "value", e->value);
	else
		tree_null(t, "value");
	tree_text(t, "unit", e->unit);
	tree_text(t, "scope", e->scope);
}

static void put_evidence(struct tree *t, const struct finding *f, int *number)
{
	tree_array(t, "evidence");
	for (size_t i = 0; i < f->nr_evidence; i++) {
		const struct evidence *e = &f->evidence[i];
		char id[16];

		snprintf(id, sizeof(id), "E%d", ++*number);
		tree_object(t, NULL);
		tree_string(t, "id", id);
		data_evidence(t, e);
		tree_end(t);
	}
	tree_end(t);
}

static void put_gain(struct tree *t, const struct gain *g)
{
	if (!g->known) {
		tree_null(t, "gain");
		return;
	}
	tree_object(t, "gain");
	tree_double(t, "value", g->value);
	tree_double(t, "low", g->method == GAIN_BOUND ? 0 : g->value / GAIN_FACTOR);
	tree_double(t, "high", g->method == GAIN_BOUND ? g->value : g->value * GAIN_FACTOR);
	tree_string(t, "unit", gain_unit_names[g->unit]);
	tree_string(t, "method", gain_method_names[g->method]);
	tree_end(t);
}

static void put_snippet(struct tree *t, const struct snippet_of *of, const struct note_snippet *s)
{
	char *code = NULL;

	if (snippet_fill(of, s, &code))
		t->failed = true;
	if (!code)
		return;
	tree_object(t, NULL);
	tree_string(t, "language", s->language);
	tree_text(t, "code", code);
	tree_end(t);
	free(code);
}

static void put_action(struct tree *t, const struct snippet_of *of)
{
	const struct note *n = of->finding->note;

	if (!n) {
		tree_null(t, "action");
		return;
	}
	tree_object(t, "action");
	tree_text(t, "text", n->action);
	tree_array(t, "snippets");
	for (size_t i = 0; i < n->nr_snippets; i++)
		put_snippet(t, of, &n->snippets[i]);
	tree_end(t);
	tree_text(t, "risk", n->risk);
	tree_text(t, "undo", n->undo);
	tree_text(t, "verify", n->verify);
	tree_end(t);
}

static void put_finding_keys(struct tree *t, const struct snippet_of *of, int *number)
{
	const struct finding *f = of->finding;

	tree_string(t, "id", f->rule->id);
	tree_text(t, "title", f->rule->title);
	tree_string(t, "severity", severity_names[f->severity]);
	tree_double(t, "confidence", f->confidence);
	tree_object(t, "subject");
	tree_string(t, "kind", subject_names[f->kind]);
	tree_name(t, "name", &f->subject);
	tree_end(t);
	tree_text(t, "summary", f->summary);
	put_evidence(t, f, number);
	put_gain(t, &f->gain);
	tree_opt_double(t, "order_s", (struct opt_f64){f->order_s, f->order_s >= 0});
	put_action(t, of);
}

/* The number of the job's evidence items before those of a finding: a merged finding's follow
 * those of the finding it was merged into. */
static int evidence_before(const struct analysis_job *a, const struct finding *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_findings; i++)
		for (const struct finding *m = &a->findings[i]; m; m = m->merged) {
			if (m == f)
				return (int)nr;
			nr += m->nr_evidence;
		}
	return (int)nr;
}

static void put_finding(struct tree *t, const struct analysis_job *a, const struct snippet_of *of)
{
	const struct finding *f = of->finding;
	int nr = evidence_before(a, f);
	int *number = &nr;

	tree_object(t, NULL);
	put_finding_keys(t, of, number);
	tree_string(t, "merged_into", f->merged_into ? f->merged_into->rule->id : NULL);
	tree_array(t, "merged");
	for (const struct finding *m = f->merged_into ? NULL : f->merged; m; m = m->merged) {
		tree_object(t, NULL);
		put_finding_keys(t, &(struct snippet_of){of->model, of->job, m}, number);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}

static void put_not_judged(struct tree *t, const struct analysis *a, int64_t job_id)
{
	tree_array(t, "not_judged");
	for (size_t i = 0; i < a->nr_unjudged; i++) {
		if (a->unjudged[i].job_id != job_id)
			continue;
		tree_object(t, NULL);
		tree_string(t, "id", a->unjudged[i].rule->id);
		tree_text(t, "reason", a->unjudged[i].reason);
		tree_end(t);
	}
	tree_end(t);
}

static void put_passed(struct tree *t, const struct analysis *a, const struct analysis_job *job)
{
	tree_array(t, "passed");
	for (size_t i = 0; i < a->rules.nr_rules; i++)
		if (analysis_passed(a, job, &a->rules.rules[i]))
			tree_string(t, NULL, a->rules.rules[i].id);
	tree_end(t);
}

static void put_metric(struct tree *t, const struct series_metric *m)
{
	tree_string(t, "metric", m->name);
	tree_string(t, "unit", m->unit);
}

static void put_changes(struct tree *t, const struct series_job *s)
{
	tree_array(t, "changes");
	for (size_t i = 0; i < s->nr_changes; i++) {
		const struct series_change *c = &s->changes[i];

		tree_object(t, NULL);
		put_metric(t, c->metric);
		data_seconds(t, "at_s", (struct opt_i64){c->at_ns, true});
		tree_double(t, "before", c->before);
		tree_double(t, "after", c->after);
		tree_double(t, "p", c->p);
		tree_end(t);
	}
	tree_end(t);
	tree_uint(t, "more_changes", s->more_changes);
}

static void put_anomalies(struct tree *t, const struct series_job *s)
{
	tree_array(t, "anomalies");
	for (size_t i = 0; i < s->nr_anomalies; i++) {
		const struct series_anomaly *a = &s->anomalies[i];

		tree_object(t, NULL);
		put_metric(t, a->metric);
		data_seconds(t, "start_s", (struct opt_i64){a->start_ns, true});
		data_seconds(t, "duration_s", (struct opt_i64){a->duration_ns, true});
		tree_double(t, "value", a->value);
		tree_double(t, "low", a->low);
		tree_double(t, "high", a->high);
		tree_double(t, "score", a->score);
		tree_end(t);
	}
	tree_end(t);
	tree_uint(t, "more_anomalies", s->more_anomalies);
}

static void put_links(struct tree *t, const struct series_job *s)
{
	tree_array(t, "links");
	for (size_t i = 0; i < s->nr_links; i++) {
		const struct series_link *l = &s->links[i];

		tree_object(t, NULL);
		tree_string(t, "a", l->a->name);
		tree_string(t, "b", l->b->name);
		data_seconds(t, "lag_s", (struct opt_i64){l->lag_ns, true});
		tree_double(t, "rho", l->rho);
		tree_double(t, "p", l->p);
		tree_uint(t, "intervals", l->intervals);
		tree_end(t);
	}
	tree_end(t);
	tree_uint(t, "more_links", s->more_links);
}

static void put_history(struct tree *t, const struct series_job *s)
{
	tree_string(t, "history_reason", s->history_absent);
	tree_array(t, "history");
	for (size_t i = 0; i < s->nr_history; i++) {
		const struct series_history *h = &s->history[i];

		tree_object(t, NULL);
		put_metric(t, h->metric);
		tree_double(t, "value", h->value);
		tree_double(t, "median", h->median);
		tree_double(t, "low", h->low);
		tree_double(t, "high", h->high);
		tree_uint(t, "runs", h->runs);
		tree_bool(t, "unusual", h->unusual);
		tree_opt_double(t, "trend_per_run", h->trend_per_run);
		tree_end(t);
	}
	tree_end(t);
}

/* Notable changes over the job's intervals, and the comparison with its earlier runs. */
static void put_series(struct tree *t, const struct series_job *s)
{
	tree_object(t, "series");
	tree_string(t, "reason", s->absent);
	tree_uint(t, "intervals", s->intervals);
	data_seconds(t, "interval_s", (struct opt_i64){s->interval_ns, true});
	data_seconds(t, "from_s", (struct opt_i64){s->from_ns, true});
	tree_array(t, "metrics");
	for (size_t i = 0; i < s->nr_metrics; i++)
		tree_string(t, NULL, s->metrics[i]->name);
	tree_end(t);
	put_changes(t, s);
	put_anomalies(t, s);
	put_links(t, s);
	put_history(t, s);
	tree_end(t);
}

void data_findings(struct tree *t, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	put_grades(t, a ? a->grades : NULL);
	if (a)
		put_ceiling(t, a);
	tree_array(t, "findings");
	for (size_t i = 0; a && i < a->nr_all; i++)
		put_finding(t, a, &(struct snippet_of){m, job, &a->findings[i]});
	tree_end(t);
	if (!a)
		return;
	tree_string(t, "gain_order", a->scale.rate.method);
	put_passed(t, m->analysis, a);
	put_not_judged(t, m->analysis, job->id);
	tree_string(t, "answer", analysis_answers[analysis_answer(m->analysis, a)]);
	put_series(t, analysis_series_of(m->analysis, job->id));
	data_wording(t, m->wording && m->wording->job_id == job->id ? m->wording : NULL);
}

void data_verdict(struct tree *t, const struct model *m, int64_t advice_id)
{
	const struct analysis_verdict *v =
		m->analysis ? analysis_verdict_of(m->analysis, advice_id) : NULL;

	tree_string(t, "verdict", v ? v->verdict : NULL);
	tree_string(t, "verdict_why", v ? v->why : NULL);
}

/* In a report they are next to the effects of each call. */
static void put_verdicts(struct tree *t, const struct model *m, const struct model_job *job)
{
	tree_array(t, "advice");
	for (size_t i = 0; i < job->nr_advice; i++) {
		const struct model_advice *v = &job->advice[i];

		tree_object(t, NULL);
		tree_name(t, "kind", &v->kind);
		tree_name(t, "call", &v->call);
		tree_name(t, "path", &v->path);
		data_verdict(t, m, v->id);
		tree_end(t);
	}
	tree_end(t);
}

static void put_problem(struct tree *t, const char *problem)
{
	char text[1024];

	escape_inert_to(text, sizeof(text), problem);
	tree_string(t, NULL, text);
}

void data_advise(struct tree *t, const struct model *m)
{
	tree_object(t, NULL);
	tree_int(t, "schema", 1);
	tree_string(t, "cachemon", CACHEMON_VERSION);
	tree_object(t, "run");
	data_run_head(t, &m->run);
	tree_end(t);
	tree_array(t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++) {
		if (model_others(&m->jobs[i]))
			continue;
		tree_object(t, NULL);
		tree_name(t, "name", &m->jobs[i].name);
		data_findings(t, m, &m->jobs[i]);
		put_directories(t, m, &m->jobs[i]);
		put_verdicts(t, m, &m->jobs[i]);
		tree_end(t);
	}
	tree_end(t);
	tree_array(t, "problems");
	for (size_t i = 0; m->analysis && i < m->analysis->rules.nr_problems; i++)
		put_problem(t, m->analysis->rules.problems[i]);
	tree_end(t);
	tree_end(t);
}
