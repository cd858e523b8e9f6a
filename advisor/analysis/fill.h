/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the TEMP tables analysis_* with one function per model. Each function reads the views or
 * tables of the runs in analysis_scope and inserts its rows; the model itself is a pure function
 * elsewhere. Owns these tables and only reads the database. fill_curve() and fill_readahead() are
 * in fill_models.c.
 */
#ifndef ADVISOR_FILL_H
#define ADVISOR_FILL_H

#include <sqlite3.h>
#include <stdint.h>

#include "advisor/analysis/job_curve.h"
#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/base/errtext.h"
#include "cachemon/db/db_rows.h"

/* 0, or -errno with a line in err. Data that cannot be modelled is not an error: it gets no row,
 * or a row with a reason. */
typedef int (*fill_fn)(sqlite3 *db, struct errtext *err);

int fill_verdict(sqlite3 *db, struct errtext *err);
int fill_grade(sqlite3 *db, struct errtext *err);

/* The next two functions create their tables if needed and add the rows of one job. A job
 * without a curve gets only a row of analysis_curve_fact with the reason. */
int fill_curve(sqlite3 *db, int64_t job_id, const struct job_curve *c, struct errtext *err);
/* A file that could not be judged gets one row, actual, whose figures are NULL and whose note says
 * why. */
int fill_readahead(sqlite3 *db, int64_t job_id, const struct whatif_readahead *w,
		   struct errtext *err);

/* Turns an SQLite code into -errno; err says what could not be filled. */
int fill_error(sqlite3 *db, const char *what, struct errtext *err);
/* rows_finish() with a message in err, except for -ENOMEM. e: the result of the rows so far. */
int fill_finish(struct rows *r, int e, const char *what, struct errtext *err);

/* Rows being inserted into a table. Each call sets the next column. */
struct fill_row {
	sqlite3_stmt *stmt;
	int column;
	int rc; /* the first error */
};

struct fill_row fill_begin(sqlite3 *db, const char *sql);
void fill_null(struct fill_row *f);
void fill_integer(struct fill_row *f, int64_t v);
void fill_real(struct fill_row *f, double v);
/* NULL if negative; pages are rounded. */
void fill_ratio(struct fill_row *f, double v);
void fill_pages(struct fill_row *f, double pages);
/* NULL if the text is NULL or empty. */
void fill_text(struct fill_row *f, const char *text);
void fill_blob(struct fill_row *f, const struct bytes *b);
/* Ends the row. false: it could not be inserted; SQLite has the error. */
bool fill_insert(struct fill_row *f);
void fill_end(struct fill_row *f);

#endif
