/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>

#include "advisor/analysis/fill.h"
#include "advisor/pattern/fill_pattern.h"
#include "cachemon/db/views.h"
#include "cachemon/db/db_rows.h"

/* In this order: what a model needs of another is above it. */
static const struct {
	fill_fn fill;
	const char *what;
} fillers[] = {
	{fill_pattern, "patterns of files"},
	{fill_verdict, "verdicts on advice"},
	{fill_grade, "grades"},
};

int fill_error(sqlite3 *db, const char *what, struct errtext *err)
{
	return errtext_set(err, -EIO, "cannot analyse the run (%s): %s", what, rows_error(db));
}

static int run(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
	       struct analysis *a, struct errtext *err)
{
	const char *what = "";
	int e = 0;

	progress_at(options->progress, "views of the run", 0, 0);
	if (views_create(db, run_id, &what) != SQLITE_OK)
		return fill_error(db, what, err);
	progress_at(options->progress, "models of the cache and of readahead", 0, 0);
	e = analysis_models(db, a, err);
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
	/* No file of its own beside a database that may not be writable; one moment of it. */
	if (sqlite3_exec(db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
		e = fill_error(db, "a transaction", err);
	} else {
		e = run(db, run_id, options, &a, err);
		/* With all that is in TEMP. */
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
	rule_set_free(&a->rules);
	analysis_models_free(a);
	*a = (struct analysis){0};
}

const struct analysis_job *analysis_job_of(const struct analysis *a, int64_t job_id)
{
	for (size_t i = 0; i < a->nr_jobs; i++)
		if (a->jobs[i].id == job_id)
			return &a->jobs[i];
	return NULL;
}

const struct analysis_verdict *analysis_verdict_of(const struct analysis *a, int64_t advice_id)
{
	size_t low = 0;
	size_t high = a->nr_verdicts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->verdicts[middle].advice_id < advice_id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < a->nr_verdicts && a->verdicts[low].advice_id == advice_id)
		return &a->verdicts[low];
	return NULL;
}
