/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates the views of sql/views on a connection, over a database of any schema: empty tables and
 * NULL columns in TEMP replace what it lacks. Owns the list of what the views need.
 */
#ifndef VIEWS_H
#define VIEWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The embedded views, sorted by name; false: no such number. */
bool view_at(size_t i, const char **ret_name, const char **ret_text);

/* For tables of an older version without some counters: creates views with NULL columns in their
 * place. SQLite code. Once per connection is enough. */
int views_of_counters(sqlite3 *db);

/*
 * Creates replacements, tables and views, and fills those that collect stored rows of the run.
 * SQLite code; ret_what names the text that failed.
 */
int views_create(sqlite3 *db, int64_t run_id, const char **ret_what);

/* The number of analysed files per job. */
enum { VIEWS_FILES_MAX = 8192 };

#endif
