/* SPDX-License-Identifier: BSD-2-Clause */
/* The models that work on one job at a time, for each watched job of the run. */
#include <stddef.h>

#include "advisor/fill.h"
#include "advisor/fill_curve.h"
#include "advisor/fill_readahead.h"

typedef int (*job_fn)(sqlite3 *db, int64_t job_id, struct errtext *err);

static int for_each_job(sqlite3 *db, const char *what, job_fn fill, struct errtext *err)
{
	sqlite3_stmt *q;
	int e = 0;

	if (sqlite3_prepare_v2(db, "SELECT job_id FROM v_job", -1, &q, NULL) != SQLITE_OK)
		return fill_error(db, what, err);
	while (!e && sqlite3_step(q) == SQLITE_ROW)
		e = fill(db, sqlite3_column_int64(q, 0), err);
	if (sqlite3_finalize(q) != SQLITE_OK && !e)
		e = fill_error(db, what, err);
	return e;
}

int fill_curves(sqlite3 *db, struct errtext *err)
{
	return for_each_job(db, "its miss-ratio curve", fill_curve, err);
}

int fill_readahead(sqlite3 *db, struct errtext *err)
{
	return for_each_job(db, "other settings of readahead", fill_readahead_job, err);
}
