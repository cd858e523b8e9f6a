/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The views of sql/views on a connection, over a database of any schema: what it lacks is stood in
 * for by empty tables and NULL columns in TEMP. Owns the list of what the views need.
 */
#ifndef VIEWS_H
#define VIEWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The views that travel in the binary, in the order of their names; false: there is no such number.
 */
bool view_at(size_t i, const char **ret_name, const char **ret_text);

/* Tables of counters that lack some, since a version wrote them that had not these: views stand in
 * for them, where the missing ones are NULL. SQLite code. Once a connection is enough. */
int views_of_counters(sqlite3 *db);

/*
 * Makes stand-ins, tables and views and fills those that gather stored rows of the run. SQLite
 * code; ret_what says at which text it failed.
 */
int views_create(sqlite3 *db, int64_t run_id, const char **ret_what);

/* Files of a job that are analysed. */
enum { VIEWS_FILES_MAX = 8192 };

#endif
