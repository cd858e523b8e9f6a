/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows with the counters of a job, file or directory. Owns their columns, and what is said when
 * rows cannot be read.
 */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "cachemon/base/errtext.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counts.h"

/* rows_finish() with a line in err. */
int rows_end(struct rows *r, struct errtext *err);

/* All counters. */
void rows_counts(struct rows *r, struct counts *ret);

/* -ENOMEM, with a line in err. */
int report_no_memory(struct errtext *err);

/* "a, b, <all counters>": for a SELECT; free() it. NULL: no memory. */
char *rows_sql(const char *before, const char *after);

#endif
