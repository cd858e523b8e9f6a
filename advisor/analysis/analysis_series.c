/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>

int analysis_load_series(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	int e = 0;

	a->series = arena_alloc(&a->rules.arena, a->nr_jobs * sizeof(*a->series));
	if (!a->series)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_jobs && !e; i++)
		e = series_load(db, a->jobs[i].id, &a->rules.arena, &a->series[i], err);
	return e;
}

const struct series_job *analysis_series_of(const struct analysis *a, int64_t job_id)
{
	for (size_t i = 0; i < a->nr_jobs && a->series; i++)
		if (a->series[i].job_id == job_id)
			return &a->series[i];
	return NULL;
}
