/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading rows of a statement, NULL as absent. Owns the cursor over the columns, so that a loader
 * lists its fields in the order of its SELECT and counts nothing.
 */
#ifndef DB_ROWS_H
#define DB_ROWS_H

#include <sqlite3.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/optional.h"

struct rows {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct arena *arena; /* of the texts */
	int column;
	int rc;
	const char *damage; /* what no cachemon writes; NULL: none was seen */
};

/* Prepares sql (NULL: no memory); an error is remembered. Several integers are bound in order. */
struct rows rows_begin(sqlite3 *db, struct arena *arena, const char *sql, int nr_params,
		       const int64_t params[]);
bool rows_next(struct rows *r);
/* rows_next() into an array with that room, which was counted: a row more is damage. */
bool rows_next_of(struct rows *r, size_t nr, size_t room);
/* 0; -ENOMEM, also of the arena; -EIO: the rows are damaged, or the database has the words. */
int rows_finish(struct rows *r);

/* The first number of the first row, *ret as it is without one. SQLite code. */
int rows_first(sqlite3 *db, const char *sql, int64_t *ret);
/* How many there are, by a question with at most one parameter; 0 also where it cannot be answered:
 * rows_next_of() then finds one more. */
size_t rows_total(sqlite3 *db, const char *sql, int64_t param);

/* The message after -EIO, also if SQLite found no error. */
const char *rows_error(sqlite3 *db);

struct bytes rows_bytes(struct rows *r);
struct opt_i64 rows_i64(struct rows *r);
struct opt_f64 rows_f64(struct rows *r);
int64_t rows_value(struct rows *r, int64_t absent);
/* Since the beginning of a run, or a part of it: two years at most. 0 when it is absent. */
#define ROWS_NS_MAX (INT64_C(1) << 56)
int64_t rows_ns(struct rows *r);

#endif
