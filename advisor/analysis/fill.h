/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fills the TEMP tables analysis_* from the stored ones: a function a model. It reads the
 * views or tables of the connection for the runs of analysis_scope and inserts its rows; the model
 * itself is a pure function elsewhere. Owns these tables; the database itself is only read.
 * fill_error() and fill_finish() are in analysis.c, fill_curve() and fill_readahead() are in
 * fill_models.c.
 */
#ifndef ADVISOR_FILL_H
#define ADVISOR_FILL_H

#include <sqlite3.h>
#include <stdint.h>

#include "advisor/analysis/job_curve.h"
#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/base/errtext.h"
#include "cachemon/db/db_rows.h"

/* 0, or -errno with a line in err. What cannot be modelled is no failure: it gets no row, or one
 * with a reason. */
typedef int (*fill_fn)(sqlite3 *db, struct errtext *err);

int fill_verdict(sqlite3 *db, struct errtext *err);
int fill_grade(sqlite3 *db, struct errtext *err);

/* The next two make their tables where they are missing, and add the rows of one job. A job without
 * a curve gets a row of analysis_curve_fact alone, with the reason. */
int fill_curve(sqlite3 *db, int64_t job_id, const struct job_curve *c, struct errtext *err);
/* A file that could not be judged gets one row, actual, whose figures are NULL and whose note says
 * why. */
int fill_readahead(sqlite3 *db, int64_t job_id, const struct whatif_readahead *w,
		   struct errtext *err);

/* -errno of an SQLite code, with what could not be filled in err. */
int fill_error(sqlite3 *db, const char *what, struct errtext *err);
/* rows_finish(), with that in err unless it is memory. */
int fill_finish(struct rows *r, const char *what, struct errtext *err);

#endif
