/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis.h"

#include <errno.h>
#include <string.h>

#include "advisor/analysis/analysis_impl.h"
#include "advisor/analysis/fill.h"
#include "advisor/pattern/pattern_file.h"
#include "cachemon/db/views.h"

/* The order matters: a model comes after the models that it needs. */
static const struct {
	fill_fn fill;
	const char *what;
} fillers[] = {
	{fill_pattern, "patterns of files"},
	{fill_verdict, "verdicts on advice"},
	{fill_grade, "grades"},
};

/* The results of a job's models stay in memory and go into TEMP for the rules. */
static int model_job(sqlite3 *db, struct analysis_model *m, struct errtext *err)
{
	int e = job_curve_load(db, m->job_id, &m->curve, err);

	if (!e)
		e = fill_curve(db, m->job_id, &m->curve, err);
	if (!e)
		e = whatif_readahead_load(db, m->job_id, &m->readahead, err);
	if (!e)
		e = fill_readahead(db, m->job_id, &m->readahead, err);
	return e;
}

static int model_jobs(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	size_t room = rows_total(db, "SELECT count(*) FROM v_job", 0);
	struct rows r = rows_begin(db, arena, "SELECT job_id FROM v_job", 0, NULL);
	int e = 0;

	a->models = arena_alloc(arena, room * sizeof(*a->models));
	while (a->models && !e && rows_next_of(&r, a->nr_models, room)) {
		struct analysis_model *m = &a->models[a->nr_models++];

		m->job_id = rows_value(&r, 0);
		e = model_job(db, m, err);
	}
	return fill_finish(&r, e, "its models", err);
}

static int run_in_order(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
			struct analysis *a, struct errtext *err)
{
	const char *what = "";
	int e = 0;

	progress_at(options->progress, "views of the run", 0, 0);
	if (views_create(db, run_id, &what) != SQLITE_OK)
		return fill_error(db, what, err);
	progress_at(options->progress, "models of the cache and of readahead", 0, 0);
	e = model_jobs(db, a, err);
	for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]) && !e; i++) {
		progress_at(options->progress, fillers[i].what, 0, 0);
		e = fillers[i].fill(db, err);
	}
	if (!e)
		e = analysis_load(db, a, err);
	if (!e)
		e = analysis_rules(db, run_id, options, a, err);
	return e;
}

int analysis_run(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
		 struct analysis *ret, struct errtext *err)
{
	struct analysis a = {0};
	int e = rule_set_load(options->dirs, &a.rules);

	if (e)
		return errtext_set(err, e, "not enough memory to read the rules");
	/* Creates no temporary file, because the directory of the database may not be writable,
	 * and reads one snapshot. */
	if (sqlite3_exec(db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
		e = fill_error(db, "a transaction", err);
	} else {
		e = run_in_order(db, run_id, options, &a, err);
		/* Drops everything in TEMP too. */
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
	if (e == -ENOMEM)
		errtext_set(err, e, "not enough memory to analyse the run");
	if (e) {
		analysis_free(&a);
		return e;
	}
	*ret = a;
	return 0;
}

void analysis_free(struct analysis *a)
{
	for (size_t i = 0; i < a->nr_models; i++) {
		job_curve_free(&a->models[i].curve);
		whatif_readahead_free(&a->models[i].readahead);
	}
	rule_set_free(&a->rules);
	*a = (struct analysis){0};
}

const struct analysis_job *analysis_job_of(const struct analysis *a, int64_t job_id)
{
	for (size_t i = 0; i < a->nr_jobs; i++)
		if (a->jobs[i].id == job_id)
			return &a->jobs[i];
	return NULL;
}

const struct analysis_model *analysis_model_of(const struct analysis *a, int64_t job_id)
{
	for (size_t i = 0; i < a->nr_models; i++)
		if (a->models[i].job_id == job_id)
			return &a->models[i];
	return NULL;
}

const char *const analysis_answers[ANSWER_NR] = {"fix", "nothing", "unexplained", "too-little",
						 "unknown"};

static bool is_found(const struct analysis_job *job, const char *id)
{
	for (size_t i = 0; i < job->nr_all; i++)
		if (!strcmp(job->findings[i].rule->id, id))
			return true;
	return false;
}

static bool serves_badly(const struct analysis_job *job)
{
	const char *overall = job->grades[GRADE_OVERALL].letter;
	const char *stall = job->grades[GRADE_STALL].letter;

	return (overall && *overall > 'C') || (stall && *stall > 'C');
}

static bool is_judged(const struct analysis *a, const struct analysis_job *job)
{
	for (size_t i = 0; i < a->nr_unjudged; i++)
		if (a->unjudged[i].job_id == job->id)
			return false;
	return true;
}

enum analysis_answer analysis_answer(const struct analysis *a, const struct analysis_job *job)
{
	if (job->nr_fixes)
		return ANSWER_FIX;
	if (is_found(job, "too-little-data"))
		return ANSWER_TOO_LITTLE;
	/* A rule that could not be judged may explain the grade. */
	if (serves_badly(job))
		return is_judged(a, job) ? ANSWER_UNEXPLAINED : ANSWER_UNKNOWN;
	return is_found(job, "nothing-wrong") || is_judged(a, job) ? ANSWER_NOTHING
								   : ANSWER_UNKNOWN;
}

static bool is_or_holds(const struct finding *f, const struct rule *rule)
{
	if (f->rule == rule)
		return true;
	for (const struct finding *m = f->merged; m; m = m->merged)
		if (m->rule == rule)
			return true;
	return false;
}

bool analysis_passed(const struct analysis *a, const struct analysis_job *job,
		     const struct rule *rule)
{
	/* A rule without a query holds parameters for other rules. A rule that runs last sums up
	 * the others. */
	if (!rule->sql || rule->order)
		return false;
	for (size_t i = 0; i < a->nr_unjudged; i++)
		if (a->unjudged[i].job_id == job->id && a->unjudged[i].rule == rule)
			return false;
	for (size_t i = 0; i < job->nr_findings; i++)
		if (is_or_holds(&job->findings[i], rule))
			return false;
	return true;
}
