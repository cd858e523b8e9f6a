/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads rows of a statement, with NULL as absent. Owns the cursor over the columns, so that a
 * loader lists its fields in the order of its SELECT without numbers.
 */
#ifndef DB_ROWS_H
#define DB_ROWS_H

#include <sqlite3.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/optional.h"

struct rows {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	struct arena *arena; /* arena of the texts */
	int column;
	int rc;
	const char *damage; /* a value that no cachemon writes; NULL: none seen */
};

/* Prepares sql (NULL: no memory); remembers an error. Binds several integers in order. */
struct rows rows_begin(sqlite3 *db, struct arena *arena, const char *sql, int nr_params,
		       const int64_t params[]);
bool rows_next(struct rows *r);
/* rows_next() into an array with room for the counted rows: one more is damage. */
bool rows_next_of(struct rows *r, size_t nr, size_t room);
/* 0; -ENOMEM, also of the arena; -EIO: damaged rows, or an error in the database. */
int rows_finish(struct rows *r);

/* The first number of the first row; *ret stays unchanged without a row. SQLite code. */
int rows_first(sqlite3 *db, const char *sql, int64_t *ret);
/* Runs each text that the query gives. SQLite code. */
int rows_run(sqlite3 *db, const char *query);
/* The number of rows, by a query with at most one parameter; 0 if it fails: rows_next_of() then
 * finds a surplus row. */
size_t rows_total(sqlite3 *db, const char *sql, int64_t param);

/* The message after -EIO, also if SQLite found no error. */
const char *rows_error(sqlite3 *db);

struct bytes rows_bytes(struct rows *r);
struct opt_i64 rows_i64(struct rows *r);
struct opt_f64 rows_f64(struct rows *r);
int64_t rows_value(struct rows *r, int64_t absent);
/* Time since the beginning of a run, or a part of it: two years at most. 0 if absent. */
#define ROWS_NS_MAX (INT64_C(1) << 56)
int64_t rows_ns(struct rows *r);

#endif
