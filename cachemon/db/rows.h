/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading rows of a statement, NULL as absent. Owns the cursor over the columns, so that a loader
 * lists its fields in the order of its SELECT and counts nothing.
 */
#ifndef DB_ROWS_H
#define DB_ROWS_H

#include <sqlite3.h>

#include "util/arena.h"
#include "util/optional.h"

struct rows {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct arena *arena; /* of the texts */
	int column;
	int rc;
};

/* Prepares sql (NULL: no memory); an error is remembered. Several integers are bound in order. */
struct rows rows_begin(sqlite3 *db, struct arena *arena, const char *sql, int nr_params,
		       const int64_t params[]);
bool rows_next(struct rows *r);
/* 0; -ENOMEM, also of the arena; -EIO: the database has the words. */
int rows_finish(struct rows *r);

struct bytes rows_bytes(struct rows *r);
struct opt_i64 rows_i64(struct rows *r);
struct opt_f64 rows_f64(struct rows *r);
int64_t rows_value(struct rows *r, int64_t absent);

#endif
