/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_model.h"

#include <math.h>

#include "cachemon/report/run/findings.h"

static const char *const keys[2] = {"a", "b"};

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
	if (!f) {
		tree_null(t, key);
		return;
	}
	tree_object(t, key);
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
		const struct finding *f = c->of[1] ? c->of[1] : c->of[0];

		tree_object(t, NULL);
		tree_text(t, "id", f->rule->id);
		tree_text(t, "title", f->rule->title);
		tree_string(t, "subject_kind", subject_names[f->kind]);
		tree_name(t, "subject", &f->subject);
		tree_string(t, "state", finding_fate_names[c->fate]);
		tree_text(t, "unjudged_reason", c->unjudged);
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

void compare_sides_data(struct tree *t, const struct compare_model *m,
			const struct compare_job *job)
{
	const struct compare_pictures *p = &job->pictures;

	put_grades(t, m, job);
	put_findings(t, job);
	tree_object(t, "pictures");
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

void compare_facts_data(struct tree *t, const struct compare_model *m)
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
