/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the TEMP tables analysis_* from the stored ones, with one function per model. It reads the
 * views or tables of the connection for the runs of analysis_scope and inserts its rows; the model
 * itself is a pure function elsewhere. Owns these tables; the database itself is only read.
 * fill_curve() and fill_readahead() are in fill_models.c.
 */
#ifndef ADVISOR_FILL_H
#define ADVISOR_FILL_H

#include <sqlite3.h>
#include <stdint.h>

#include "advisor/analysis/job_curve.h"
#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/base/errtext.h"
#include "cachemon/db/db_rows.h"

/* 0, or -errno with a line in err. Data that cannot be modelled is not a failure: it gets no row,
 * or one with a reason. */
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
/* rows_finish(), with that in err unless it is memory. e: what the rows came to before. */
int fill_finish(struct rows *r, int e, const char *what, struct errtext *err);

/* The rows of a table, as an INSERT takes them: the next column, and the next. */
struct fill_row {
	sqlite3_stmt *stmt;
	int column;
	int rc; /* of what failed first */
};

struct fill_row fill_begin(sqlite3 *db, const char *sql);
void fill_null(struct fill_row *f);
void fill_integer(struct fill_row *f, int64_t v);
void fill_real(struct fill_row *f, double v);
/* NULL below 0; pages are rounded. */
void fill_ratio(struct fill_row *f, double v);
void fill_pages(struct fill_row *f, double pages);
/* NULL if the text is absent or empty. */
void fill_text(struct fill_row *f, const char *text);
void fill_blob(struct fill_row *f, const struct bytes *b);
/* The row is complete. false: it could not be inserted, for SQLite's last error. */
bool fill_insert(struct fill_row *f);
void fill_end(struct fill_row *f);

#endif
