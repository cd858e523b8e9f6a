/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows with the counters of a job, file or directory. Owns their columns, and the message when rows
 * cannot be read.
 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include "cachemon/base/errtext.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counts.h"

/* rows_finish() with a line in err. */
int model_rows_end(struct rows *r, struct errtext *err);

/* All counters. */
void model_rows_counts(struct rows *r, struct counts *ret);

/* Whether the database has that table, or that column of it; column NULL: any. A database from
 * an earlier schema lacks later ones. */
bool model_has(sqlite3 *db, const char *table, const char *column);

/* -ENOMEM, with a line in err. */
int model_no_memory(struct errtext *err);

/* "a, b, <all counters>": for a SELECT; free() it. NULL: no memory. */
char *model_rows_sql(const char *before, const char *after);

#endif
