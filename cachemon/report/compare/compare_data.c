/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdlib.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"
#include "cachemon/report/run/data.h"
#include "cachemon/report/run/findings.h"

static const char *const keys[2] = {"a", "b"};

static void put_number(struct tree *t, const char *key, double v, bool known)
{
	tree_double(t, key, known ? v : NAN);
}

static void put_test(struct tree *t, const struct compare_row *row)
{
	bool tested = row->outcome != OUTCOME_UNKNOWN && row->test.why == PAIRED_TESTED;
	bool judged = !isnan(row->p_adjusted);

	put_number(t, "p", row->test.p, judged);
	put_number(t, "p_adjusted", row->p_adjusted, judged);
	put_number(t, "error", row->test.error, tested);
	put_number(t, "t", row->test.t, judged);
	put_number(t, "u", row->u, row->values);
	put_number(t, "degrees_of_freedom", row->test.degrees, tested);
	put_number(t, "independent_cells", row->test.effective_cells, tested);
	put_number(t, "log_change", row->test.log_change, tested && row->test.log_error > 0);
	put_number(t, "log_error", row->test.log_error, tested && row->test.log_error > 0);
	put_number(t, "detectable_difference", row->test.detectable, judged);
	tree_string(t, "untested_reason", compare_why(row));
}

static void put_interval(struct tree *t, const struct compare_row *row)
{
	double low = 0;
	double high = 0;
	bool known = compare_interval(row, &low, &high);

	put_number(t, "interval_low", low, known);
	put_number(t, "interval_high", high, known);
}

/* One per run; null if each side has one run. */
static void put_values(struct tree *t, const struct compare_result *r,
		       const struct compare_row *row)
{
	const size_t nr[2] = {r->runs_a, r->runs_b};

	for (int k = 0; k < 2; k++) {
		const char *key = k ? "values_b" : "values_a";

		if (!row->values) {
			tree_null(t, key);
			continue;
		}
		tree_line(t, key);
		for (size_t i = 0; i < nr[k]; i++)
			tree_double(t, NULL, row->values[k * nr[0] + i]);
		tree_end(t);
	}
}

static void put_row(struct tree *t, const struct compare_result *r, const struct compare_row *row)
{
	static const char *const better[] = {NULL, "lower", "higher"};
	bool known = row->outcome != OUTCOME_UNKNOWN;

	tree_object(t, NULL);
	tree_string(t, "metric", row->metric->key);
	tree_string(t, "unit", compare_unit(r, row->metric));
	tree_string(t, "better", better[row->metric->better]);
	tree_bool(t, "primary", row->metric->rank == 0 && row->metric->better != BETTER_NEITHER);
	put_number(t, "a", row->a, known);
	put_number(t, "b", row->b, known);
	put_number(t, "difference", row->test.difference, known);
	put_number(t, "relative_difference", row->test.difference / row->a, known && row->a > 0);
	put_number(t, "spread_a", row->test.spread_a, known);
	put_number(t, "spread_b", row->test.spread_b, known);
	put_number(t, "relevant_difference", row->relevant,
		   known && row->metric->better != BETTER_NEITHER);
	put_test(t, row);
	put_interval(t, row);
	put_values(t, r, row);
	tree_string(t, "change", known ? compare_change(row).s : NULL);
	tree_string(t, "mark", compare_mark_name(compare_mark(row)));
	tree_string(t, "outcome", compare_outcome_name(row->outcome));
	tree_end(t);
}

static void put_totals(struct tree *t, const struct compare_job *job)
{
	const struct compare_total *total;

	tree_array(t, "totals");
	for (size_t i = 0; (total = compare_total(i)); i++) {
		double v[2] = {0};
		bool known[2];

		for (int k = 0; k < 2; k++)
			known[k] = compare_sum(&job->run[k], &total->sum, &v[k]);
		tree_object(t, NULL);
		tree_string(t, "metric", total->key);
		tree_string(t, "unit", total->unit);
		for (int k = 0; k < 2; k++)
			tree_opt_int(t, keys[k], (struct opt_i64){(int64_t)v[k], known[k]});
		tree_opt_int(t, "difference",
			     (struct opt_i64){(int64_t)(v[1] - v[0]), known[0] && known[1]});
		tree_end(t);
	}
	tree_end(t);
}

static void put_sentence(struct tree *t, const char *key, const struct compare_job *job, bool time)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *text;

	if (out && time)
		compare_time_sentence(out, job);
	else if (out)
		compare_sentence(out, &job->result);
	text = text_end(&b);
	if (text)
		tree_string(t, key, text);
	else
		t->failed = true;
	free(text);
}

/* The p of the difference in time, and the number of values it comes from. */
static void put_proof(struct tree *t, const struct compare_result *r)
{
	const struct compare_row *time = &r->rows[0];
	bool ranks = r->test == TEST_RANKS;

	put_number(t, "p", time->p_adjusted, !isnan(time->p_adjusted));
	tree_int(t, "n_a", (int64_t)(ranks ? r->runs_a : r->intervals_a));
	tree_int(t, "n_b", (int64_t)(ranks ? r->runs_b : r->intervals_b));
}

/* Null: more runs are not needed. */
static void put_command(struct tree *t, const struct compare_model *m,
			const struct compare_job *job)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *text;

	if (out)
		compare_command(out, m, job);
	text = text_end(&b);
	t->failed |= !text;
	tree_string(t, "prove_command", compare_runs_missing(m, job) ? text : NULL);
	free(text);
}

static void put_verdict(struct tree *t, const struct compare_model *m,
			const struct compare_job *job)
{
	tree_object(t, "verdict");
	tree_string(t, "result", compare_verdict_name(job->result.verdict));
	put_sentence(t, "sentence", job, false);
	put_sentence(t, "time", job, true);
	tree_string(t, "test", compare_test_name(job->result.test));
	put_proof(t, &job->result);
	put_command(t, m, job);
	tree_end(t);
}

static void put_grades(struct tree *t, const struct compare_model *m, const struct compare_job *job)
{
	const struct analysis_job *a[2];

	for (int k = 0; k < 2; k++)
		a[k] = findings_of(&m->model[k], job->job[k]);
	tree_array(t, "grades");
	for (int i = 0; i < GRADE_NR; i++) {
		tree_object(t, NULL);
		tree_string(t, "name", grade_names[i]);
		for (int k = 0; k < 2; k++) {
			const struct analysis_grade *g = a[k] ? &a[k]->grades[i] : NULL;

			tree_string(t, k ? "grade_b" : "grade_a", g ? g->letter : NULL);
			tree_opt_double(t, k ? "score_b" : "score_a",
					g ? g->score : (struct opt_f64){0});
		}
		tree_string(t, "mark", compare_mark_name(MARK_NOT_JUDGED));
		tree_end(t);
	}
	tree_end(t);
}

static void put_found(struct tree *t, const char *key, const struct finding *f)
{
	if (!tree_opt_object(t, key, f))
		return;
	tree_string(t, "severity", severity_names[f->severity]);
	tree_text(t, "gain", finding_gain(&f->gain).s);
	tree_double(t, "gain_value", f->gain.known ? f->gain.value : NAN);
	tree_string(t, "gain_unit", f->gain.known ? gain_unit_names[f->gain.unit] : NULL);
	tree_string(t, "gain_method", f->gain.known ? gain_method_names[f->gain.method] : NULL);
	tree_end(t);
}

static void put_findings(struct tree *t, const struct compare_job *job)
{
	tree_array(t, "findings");
	for (size_t i = 0; i < job->nr_findings; i++) {
		const struct compare_finding *c = &job->findings[i];
		const struct finding *f = compare_finding_shown(c);

		tree_object(t, NULL);
		tree_text(t, "id", f->rule->id);
		tree_text(t, "title", f->rule->title);
		tree_string(t, "subject_kind", subject_names[f->kind]);
		tree_name(t, "subject", &f->subject);
		tree_string(t, "state", finding_fate_names[c->fate]);
		tree_text(t, "unjudged_reason", c->unjudged);
		tree_string(t, "merged_into", f->merged_into ? f->merged_into->rule->id : NULL);
		for (int k = 0; k < 2; k++)
			put_found(t, keys[k], c->of[k]);
		tree_end(t);
	}
	tree_end(t);
}

static void put_pair(struct tree *t, const char *key, const struct compare_picture p[2])
{
	tree_object(t, key);
	for (int k = 0; k < 2; k++) {
		picture_data(t, keys[k], &p[k].picture);
		tree_text(t, k ? "absent_b" : "absent_a", p[k].absent);
	}
	tree_end(t);
}

static void put_sides(struct tree *t, const struct compare_model *m, const struct compare_job *job)
{
	const struct compare_pictures *p = &job->pictures;

	put_grades(t, m, job);
	put_findings(t, job);
	tree_object(t, "pictures");
	picture_data(t, "answer", &p->answer);
	put_pair(t, "time", p->time);
	put_pair(t, "windows", p->windows);
	put_pair(t, "reads", p->reads);
	tree_object(t, "curve");
	picture_data(t, "both", &p->curve.picture);
	for (int k = 0; k < 2; k++)
		tree_text(t, k ? "absent_b" : "absent_a", p->no_curve[k]);
	tree_end(t);
	tree_end(t);
}

static void put_facts(struct tree *t, const struct compare_model *m)
{
	tree_array(t, "not_the_same");
	for (size_t i = 0; i < m->nr_facts; i++) {
		const struct compare_fact *f = &m->facts[i];

		tree_object(t, NULL);
		tree_name(t, "what", &f->what);
		for (int k = 0; k < 2; k++)
			tree_name(t, keys[k], &f->value[k]);
		tree_end(t);
	}
	tree_end(t);
}

static void put_job(struct tree *t, const struct compare_model *m, const struct compare_job *job)
{
	const struct compare_result *r = &job->result;

	tree_object(t, NULL);
	tree_name(t, "name_a", &job->job[0]->name);
	tree_name(t, "name_b", &job->job[1]->name);
	put_verdict(t, m, job);
	tree_string(t, "test", compare_test_name(r->test));
	tree_string(t, "method", compare_method(r->test));
	tree_string(t, "per", r->per == PER_JOB ? "job" : "work");
	tree_string(t, "work", compare_work_name(r->work));
	tree_int(t, "work_a", (int64_t)r->work_a);
	tree_int(t, "work_b", (int64_t)r->work_b);
	tree_int(t, "intervals_a", (int64_t)r->intervals_a);
	tree_int(t, "intervals_b", (int64_t)r->intervals_b);
	data_seconds(t, "interval_s_a", m->model[0].run.interval_ns);
	data_seconds(t, "interval_s_b", m->model[1].run.interval_ns);
	tree_int(t, "runs_a", (int64_t)r->runs_a);
	tree_int(t, "runs_b", (int64_t)r->runs_b);
	tree_int(t, "cells", (int64_t)r->cells);
	tree_int(t, "metrics_tested", (int64_t)r->nr_tested);
	tree_array(t, "metrics");
	for (size_t i = 0; i < r->nr_rows; i++)
		put_row(t, r, &r->rows[i]);
	tree_end(t);
	put_totals(t, job);
	put_sides(t, m, job);
	tree_end(t);
}

/* All runs; "a" and "b" are the shown ones. */
static void put_side_runs(struct tree *t, const struct compare_model *m)
{
	for (int i = 0; i < 2; i++) {
		tree_array(t, i ? "runs_b" : "runs_a");
		for (size_t k = 0; k < m->side[i].nr; k++) {
			tree_object(t, NULL);
			data_run_head(t, &m->side[i].runs[k].run);
			tree_end(t);
		}
		tree_end(t);
	}
}

void compare_data(struct tree *t, const struct compare_model *m)
{
	tree_object(t, NULL);
	tree_int(t, "schema", 1);
	tree_string(t, "cachemon", CACHEMON_VERSION);
	for (int i = 0; i < 2; i++) {
		tree_object(t, keys[i]);
		data_run_head(t, &m->model[i].run);
		tree_end(t);
	}
	put_side_runs(t, m);
	tree_bool(t, "same_run", m->same);
	tree_object(t, "test");
	tree_string(t, "name", compare_test_name(compare_several(m) ? TEST_RANKS : TEST_PAIRED));
	tree_string(t, "adjustment", "Holm");
	tree_double(t, "level", COMPARE_LEVEL);
	tree_string(t, "method", compare_method(compare_several(m) ? TEST_RANKS : TEST_PAIRED));
	tree_end(t);
	put_facts(t, m);
	tree_array(t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_job(t, m, &m->jobs[i]);
	tree_end(t);
	tree_end(t);
}
