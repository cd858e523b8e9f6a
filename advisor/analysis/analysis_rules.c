/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/fill.h"
#include "advisor/rules/eval.h"
#include "advisor/rules/needs.h"
#include "cachemon/base/vec.h"

/* Why a rule cannot be judged for a job: the first reason, and the number of reasons. */
struct doubt {
	const char *reason;
	size_t nr;
};

struct run {
	sqlite3 *db;
	int64_t run_id;
	uint64_t steps;
	struct guard_budget budget; /* limits for the site's rules */
	struct analysis *a;
	bool *judged;	      /* verdicts of the current rule, one for each job */
	struct doubt *doubts; /* doubts of the current rule, one for each job */
	struct finding *list; /* findings of all rules */
	size_t nr, room;
	struct errtext *err;
};

static struct arena *arena_of(struct run *r)
{
	return &r->a->rules.arena;
}

static bool is_judged(void *arg, int64_t job_id)
{
	struct run *r = arg;

	for (size_t i = 0; i < r->a->nr_jobs; i++)
		if (r->a->jobs[i].id == job_id)
			return r->judged[i];
	return false;
}

/* A finding that would gain less than the floor raises no doubt: it changes no answer. */
static void add_doubt(void *arg, const struct finding *in_doubt, const char *reason)
{
	struct run *r = arg;

	for (size_t i = 0; i < r->a->nr_jobs; i++) {
		const struct analysis_job *job = &r->a->jobs[i];
		struct opt_f64 share = gain_share(&in_doubt->gain, &job->scale);

		if (job->id != in_doubt->job_id ||
		    (share.known && share.value < job->scale.floor_share))
			continue;
		if (!r->doubts[i].nr++)
			r->doubts[i].reason = reason;
	}
}

static int end_note(struct run *r, struct fill_row *f)
{
	int e = fill_insert(f) ? 0 : fill_error(r->db, "rules", r->err);

	fill_end(f);
	return e;
}

/* Covers rules that run last too. doubt: the only reason why the rule does not hold. */
static int note_unjudged(struct run *r, const struct rule *rule, int64_t job_id, const char *reason,
			 bool doubt)
{
	struct analysis_unjudged *u = &r->a->unjudged[r->a->nr_unjudged++];
	struct fill_row f =
		fill_begin(r->db, "INSERT INTO temp.analysis_unjudged VALUES (?1, ?2, ?3, ?4)");

	*u = (struct analysis_unjudged){.job_id = job_id, .rule = rule, .reason = reason};
	fill_integer(&f, job_id);
	fill_text(&f, rule->id);
	fill_text(&f, reason);
	fill_integer(&f, doubt);
	return end_note(r, &f);
}

static int note_finding(struct run *r, const struct finding *found)
{
	struct fill_row f = fill_begin(
		r->db, "INSERT INTO temp.analysis_finding VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");

	fill_integer(&f, found->job_id);
	fill_text(&f, found->rule->id);
	fill_text(&f, severity_names[found->severity]);
	fill_real(&f, found->confidence);
	fill_text(&f, subject_names[found->kind]);
	fill_blob(&f, &found->subject);
	if (found->gain.known && found->gain.unit == GAIN_SECONDS)
		fill_real(&f, found->gain.value);
	else
		fill_null(&f);
	fill_text(&f, found->cause);
	return end_note(r, &f);
}

static int append_findings(struct run *r, const struct finding *list, size_t nr)
{
	int e = 0;

	if (vec_reserve(r->list, r->room, r->nr + nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr && !e; i++) {
		const struct analysis_job *job = analysis_job_of(r->a, list[i].job_id);

		r->list[r->nr] = list[i];
		if (job)
			finding_apply_floor(&r->list[r->nr], &job->scale);
		e = note_finding(r, &r->list[r->nr++]);
	}
	return e;
}

/* Finds the jobs for which the rule can be judged; *ret_any: there is at least one. */
static int check_needs(struct run *r, const struct rule *rule, bool *ret_any, struct errtext *err)
{
	*ret_any = false;
	for (size_t i = 0; i < r->a->nr_jobs; i++) {
		struct needs_subject s = {r->db, arena_of(r), r->run_id, r->a->jobs[i].id};
		const char *reason = NULL;
		int e = needs_check(&s, rule, &reason, err);

		if (!e && reason)
			e = note_unjudged(r, rule, s.job_id, reason, false);
		if (e)
			return e;
		r->judged[i] = !reason;
		r->doubts[i] = (struct doubt){0};
		*ret_any = *ret_any || !reason;
	}
	return 0;
}

static bool found_for(const struct finding *list, size_t nr, int64_t job_id)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i].job_id == job_id)
			return true;
	return false;
}

/* A job with a finding counts as judged, even if something else is in doubt. */
static int note_doubts(struct run *r, const struct rule *rule, const struct finding *list,
		       size_t nr)
{
	int e = 0;

	for (size_t i = 0; i < r->a->nr_jobs && !e; i++) {
		const struct doubt *d = &r->doubts[i];
		int64_t job_id = r->a->jobs[i].id;
		const char *reason = d->reason;

		if (!d->nr || found_for(list, nr, job_id))
			continue;
		if (d->nr > 1)
			reason = arena_print(arena_of(r), "%.900s; and %zu more errors", reason,
					     d->nr - 1);
		e = reason ? note_unjudged(r, rule, job_id, reason, true) : -ENOMEM;
	}
	return e;
}

/* A faulty rule is reported as a problem; the analysis goes on. */
static int run_rule(struct run *r, const struct rule *rule)
{
	struct eval eval = {.db = r->db,
			    .arena = arena_of(r),
			    .steps = r->steps,
			    .budget = &r->budget,
			    .wants = is_judged,
			    .doubts = add_doubt,
			    .arg = r};
	struct errtext wrong = {0};
	struct finding *list = NULL;
	size_t nr = 0;
	bool any = false;
	int e = eval_check(&eval, rule, &wrong);

	if (!e)
		e = check_needs(r, rule, &any, &wrong);
	if (!e && any)
		e = eval_rule(&eval, rule, rule_set_note(&r->a->rules, rule->id), &list, &nr,
			      &wrong);
	if (!e && any)
		e = note_doubts(r, rule, list, nr);
	if (!e)
		return append_findings(r, list, nr);
	if (e != -EINVAL)
		return e == -ENOMEM ? e : errtext_set(r->err, e, "%s", wrong.text);
	e = rule_set_problem(&r->a->rules, e, &wrong);
	for (size_t i = 0; i < r->a->nr_jobs && !e; i++)
		e = note_unjudged(r, rule, r->a->jobs[i].id, "the rule is invalid", false);
	return e;
}

/*
 * Limits the overall score to the share of the time that would remain after the largest fix.
 * Without that, a job could get grade A although a fix saves a third of its time.
 * A bound lowers nothing, because it is the most that a fix can gain.
 */
static int cap_grade(struct run *r, struct analysis_job *job)
{
	struct analysis_grade *overall = &job->grades[GRADE_OVERALL];
	const struct finding *most = NULL;
	double share = 0;

	for (size_t i = 0; i < job->nr_fixes; i++) {
		const struct gain *g = &job->findings[i].gain;
		struct opt_f64 s = gain_share(g, &job->scale);

		if (g->method != GAIN_BOUND && s.known && s.value > share) {
			share = s.value < 1 ? s.value : 1;
			most = &job->findings[i];
		}
	}
	if (!overall->letter || !most || overall->score.value <= 1 - share)
		return 0;
	overall->score.value = 1 - share;
	overall->letter = arena_print(arena_of(r), "%c", grade_letter(overall->score.value));
	overall->formula =
		arena_print(arena_of(r), "1 - gain %.4f of %s, which is less than the %s", share,
			    most->rule->id, overall->formula);
	return overall->letter && overall->formula ? 0 : -ENOMEM;
}

static int hand_out(struct run *r)
{
	struct finding *list = arena_alloc(arena_of(r), r->nr * sizeof(*list));
	size_t at = 0;

	if (!list)
		return -ENOMEM;
	for (size_t j = 0; j < r->a->nr_jobs; j++) {
		struct analysis_job *job = &r->a->jobs[j];
		size_t nr = 0;

		for (size_t i = 0; i < r->nr; i++)
			if (r->list[i].job_id == job->id)
				list[at + nr++] = r->list[i];
		job->findings = list + at;
		job->nr_all = nr;
		job->nr_findings = findings_rank(list + at, nr, &job->scale);
		while (job->nr_fixes < job->nr_findings &&
		       job->findings[job->nr_fixes].severity != SEVERITY_INFO)
			job->nr_fixes++;
		if (cap_grade(r, job))
			return -ENOMEM;
		at += nr;
	}
	return 0;
}

int analysis_rules(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
		   struct analysis *a, struct errtext *err)
{
	struct run r = {
		.db = db,
		.run_id = run_id,
		.steps = options->steps,
		.budget = {.cpu_ns = GUARD_CPU_MS * 1000000ULL, .text_bytes = GUARD_TEXT_MAX},
		.a = a,
		.err = err};
	struct arena *arena = arena_of(&r);
	/* A rule may turn out to be faulty after its needs were recorded. */
	size_t room = 2 * a->rules.nr_rules * a->nr_jobs;
	size_t done = 0;
	int e = 0;

	a->unjudged = arena_alloc(arena, room * sizeof(*a->unjudged));
	r.judged = arena_alloc(arena, a->nr_jobs * sizeof(*r.judged));
	r.doubts = arena_alloc(arena, a->nr_jobs * sizeof(*r.doubts));
	if (!a->unjudged || !r.judged || !r.doubts)
		return -ENOMEM;
	for (int order = ORDER_FIRST; order < ORDER_NR; order++)
		for (size_t i = 0; i < a->rules.nr_rules && !e; i++)
			if (a->rules.rules[i].order == (enum rule_order)order) {
				progress_at(options->progress, "rules", done++, a->rules.nr_rules);
				e = run_rule(&r, &a->rules.rules[i]);
			}
	if (!e)
		e = hand_out(&r);
	free(r.list);
	return e;
}
