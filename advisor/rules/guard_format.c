/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "advisor/rules/guard.h"

enum { ARGUMENTS_MAX = 127 }; /* SQLite's own limit */

/* Whether a %c of a format has a precision, which is how often it is written. Every % counts:
 * a false alarm is better than a miss. */
static bool repeats(const char *format)
{
	while ((format = strchr(format, '%'))) {
		size_t len = strspn(++format, "-+ #!,0123456789*.l");

		if (format[len] == 'c' && memchr(format, '.', len))
			return true;
	}
	return false;
}

static void fail(sqlite3_context *context, sqlite3 *plain, int rc)
{
	sqlite3_result_error(context, sqlite3_errmsg(plain), -1);
	sqlite3_result_error_code(context, rc);
}

/* A function that replaces one of SQLite's hides it, so that another connection has to call it. */
static void format(sqlite3_context *context, int nr, sqlite3_value **values)
{
	sqlite3 *plain = sqlite3_user_data(context);
	const char *text = nr ? (const char *)sqlite3_value_text(values[0]) : NULL;
	char sql[2 * ARGUMENTS_MAX + 32] = "SELECT printf(";
	size_t len = strlen(sql);
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (text && repeats(text)) {
		sqlite3_result_error(context,
				     "a rule's printf() repeats no character: leave out "
				     "the precision of %c",
				     -1);
		return;
	}
	for (int i = 0; i < nr && i < ARGUMENTS_MAX; i++) {
		sql[len++] = i ? ',' : '?';
		if (i)
			sql[len++] = '?';
	}
	sql[len] = ')';
	rc = sqlite3_prepare_v2(plain, sql, -1, &stmt, NULL);
	for (int i = 0; i < nr && rc == SQLITE_OK; i++)
		rc = sqlite3_bind_value(stmt, i + 1, values[i]);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		sqlite3_result_value(context, sqlite3_column_value(stmt, 0));
	else
		fail(context, plain, rc);
	sqlite3_finalize(stmt);
}

static void close_plain(void *plain)
{
	sqlite3_close(plain);
}

int guard_format(sqlite3 *db)
{
	static const char *const names[] = {"printf", "format"};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && rc == SQLITE_OK; i++) {
		sqlite3 *plain = NULL;

		rc = sqlite3_open_v2(":memory:", &plain, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
				     NULL);
		if (rc != SQLITE_OK) {
			sqlite3_close(plain);
			return rc;
		}
		sqlite3_limit(plain, SQLITE_LIMIT_LENGTH, GUARD_LENGTH_MAX);
		/* Closes plain also when it fails. */
		rc = sqlite3_create_function_v2(
			db, names[i], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
			plain, format, NULL, NULL, close_plain);
	}
	return rc;
}
