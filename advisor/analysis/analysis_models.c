/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "advisor/analysis/fill.h"
#include "advisor/analysis/fill_curve.h"
#include "advisor/analysis/fill_readahead.h"

/* NULL: no memory. */
static struct analysis_model *add(struct analysis *a, int64_t job_id)
{
	struct analysis_model *more = reallocarray(a->models, a->nr_models + 1, sizeof(*more));

	if (!more)
		return NULL;
	a->models = more;
	more += a->nr_models++;
	*more = (struct analysis_model){.job_id = job_id};
	return more;
}

static int model_of(sqlite3 *db, int64_t job_id, struct analysis *a, struct errtext *err)
{
	struct analysis_model *m = add(a, job_id);
	int e;

	if (!m)
		return -ENOMEM;
	e = job_curve_load(db, job_id, &m->curve, err);
	if (!e)
		e = fill_curve(db, job_id, &m->curve, err);
	if (!e)
		e = whatif_readahead_load(db, job_id, &m->readahead, err);
	if (!e)
		e = fill_readahead(db, job_id, &m->readahead, err);
	return e;
}

int analysis_models(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	sqlite3_stmt *q;
	int e = 0;

	if (sqlite3_prepare_v2(db, "SELECT job_id FROM v_job", -1, &q, NULL) != SQLITE_OK)
		return fill_error(db, "its models", err);
	while (!e && sqlite3_step(q) == SQLITE_ROW)
		e = model_of(db, sqlite3_column_int64(q, 0), a, err);
	if (sqlite3_finalize(q) != SQLITE_OK && !e)
		e = fill_error(db, "its models", err);
	return e;
}

void analysis_models_free(struct analysis *a)
{
	for (size_t i = 0; i < a->nr_models; i++) {
		job_curve_free(&a->models[i].curve);
		whatif_readahead_free(&a->models[i].readahead);
	}
	free(a->models);
}

const struct analysis_model *analysis_model_of(const struct analysis *a, int64_t job_id)
{
	for (size_t i = 0; i < a->nr_models; i++)
		if (a->models[i].job_id == job_id)
			return &a->models[i];
	return NULL;
}
