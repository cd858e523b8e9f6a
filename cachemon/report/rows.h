/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading rows of a statement into the model's types, NULL as absent. Owns the cursor over the
 * columns, so that a loader lists its fields in the order of its SELECT and counts nothing.
 */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include <sqlite3.h>

#include "report/model.h"

struct rows {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct arena *arena;
	int column;
	int rc;
};

/* Prepares "SELECT <fields>[, counters] <rest>"; an error is remembered in rc. Several integer
 * parameters are bound in order. */
struct rows rows_begin(sqlite3 *db, struct arena *arena, const char *sql, int nr_params,
		       const int64_t params[]);
bool rows_next(struct rows *r);
/* 0, or -errno with a line in err. */
int rows_end(struct rows *r, char *err, size_t errlen);

struct bytes rows_bytes(struct rows *r);
struct opt_i64 rows_i64(struct rows *r);
struct opt_f64 rows_f64(struct rows *r);
int64_t rows_value(struct rows *r, int64_t absent);
/* misses_read_on when the statement has it, then all counters. */
void rows_counts(struct rows *r, bool read_on, struct counts *ret);

/* "a, b, <all counters>": for a SELECT; free() it. NULL: no memory. */
char *rows_sql(const char *before, const char *after);

#endif
