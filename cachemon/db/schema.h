/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema of a database: the migrations to each version, and whether a file has exactly these
 * tables, indexes and views. Owns no connection.
 */
#ifndef DB_SCHEMA_H
#define DB_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

enum { STORE_APPLICATION_ID = 1667330920 }; /* as in sql/001_schema.sql */

/* Maximum jobs of a run, more than any has; analysing each one takes time. */
enum { SCHEMA_JOBS_MAX = 64 };

struct migration {
	const char *name; /* "001_schema": begins with the version that it creates */
	const char *text;
};

/* The i-th migration; false after the last. */
bool migration_at(size_t i, struct migration *ret);
int migration_version(const struct migration *m);
/* All tables of the newest schema, for a new database: what the migrations create together, in a
 * small part of their time. */
const char *schema_whole(void);

/* Compares with what the migrations up to the file's user_version create. Ignores a site's tables,
 * unless they have names of cachemon's or change cachemon's tables. An SQLite code; SQLITE_OK with
 * words in ret_what ("it has ...", "its ..."): the schema differs. With views, creates cachemon's
 * views as temporary ones, because those of a file are disabled. */
int schema_check(sqlite3 *db, bool views, char *ret_what, size_t size);

#endif
