/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cachemon/base/clock.h"
#include "cachemon/db/db_open.h"

/* Steps between two calls of the progress handler. A step of a site's rule may take 0.2 s. */
enum { STEPS_EACH = 10000, STEPS_EACH_OF_SITE = 100 };

enum { ARGUMENTS_MAX = 127 /* of a function: SQLite's own limit */ };

/* An aggregated value may double its memory within one step. */
enum { HARD_HEAP_MAX = GUARD_HEAP_MAX / 4 * 9 };

static const struct {
	int id;
	int value;
} limits[GUARD_LIMITS_NR] = {
	{SQLITE_LIMIT_LENGTH, GUARD_LENGTH_MAX},
	{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256},
	{SQLITE_LIMIT_EXPR_DEPTH, 200},
	{SQLITE_LIMIT_COMPOUND_SELECT, 50},
	{SQLITE_LIMIT_COLUMN, 500},
	{SQLITE_LIMIT_FUNCTION_ARG, ARGUMENTS_MAX},
	{SQLITE_LIMIT_VDBE_OP, 100000},
	{SQLITE_LIMIT_VARIABLE_NUMBER, 1000},
};

static const char *action_name(int action)
{
	switch (action) {
	case SQLITE_ATTACH:
		return "ATTACH";
	case SQLITE_DETACH:
		return "DETACH";
	case SQLITE_PRAGMA:
		return "PRAGMA";
	case SQLITE_INSERT:
		return "INSERT";
	case SQLITE_UPDATE:
		return "UPDATE";
	case SQLITE_DELETE:
		return "DELETE";
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return "a transaction";
	default:
		return "a change of the schema";
	}
}

static bool is_allowed(int action, const char *name)
{
	/* Functions for a shell, or internal to a library. */
	static const char *const functions[] = {"load_extension", "fts3_tokenizer", "readfile",
						"writefile",	  "edit",	    "randomblob",
						"zeroblob"};

	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
		return true;
	if (action != SQLITE_FUNCTION || !name)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcasecmp(name, functions[i]) == 0)
			return false;
	return true;
}

/* The weight of a call whose time may grow with the square of its texts' length; 0: it does not. */
static unsigned weight_of(const char *name)
{
	static const struct {
		const char *name;
		unsigned weight; /* calls in 30 ms, at GUARD_LENGTH_MAX */
	} slow[] = {
		{"instr", 1}, {"replace", 1}, {"like", 1},  {"glob", 1},
		{"trim", 6},  {"ltrim", 6},   {"rtrim", 6}, {"json_patch", 1},
	};

	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (strcasecmp(name, slow[i].name) == 0)
			return slow[i].weight;
	return 0;
}

static bool is_too_slow(struct guard *g, int action, const char *name)
{
	if (!g->budget || action != SQLITE_FUNCTION || !name)
		return false;
	g->searches += weight_of(name);
	if (g->searches > GUARD_SEARCHES_MAX)
		g->stopped = GUARD_SEARCHES;
	return g->stopped;
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *database,
		     const char *view)
{
	struct guard *g = arg;

	if (is_too_slow(g, action, b))
		return SQLITE_DENY;
	if (is_allowed(action, b))
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION)
		snprintf(g->refused, sizeof(g->refused), "the function %s()", b ? b : "");
	else
		snprintf(g->refused, sizeof(g->refused), "%s%s%s", action_name(action),
			 action == SQLITE_PRAGMA && a ? " " : "",
			 action == SQLITE_PRAGMA && a ? a : "");
	return SQLITE_DENY;
}

static uint64_t spent_ns(const struct guard *g)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - g->began_cpu_ns;
}

/* Reading the CPU clock is a system call, so it is skipped during the first milliseconds. */
static bool is_late(struct guard *g)
{
	uint64_t now = clock_read_ns(CLOCK_MONOTONIC_COARSE);

	if (now == g->looked_ns)
		return false;
	g->looked_ns = now;
	return spent_ns(g) > g->budget->cpu_ns / 2;
}

static int look_at_progress(void *arg)
{
	struct guard *g = arg;
	uint64_t steps = g->budget ? STEPS_EACH_OF_SITE : STEPS_EACH;

	if (!db_spend(steps))
		g->stopped = GUARD_DATABASE;
	else if (g->steps_left < steps || (g->budget && is_late(g)))
		g->stopped = GUARD_TIME;
	else if (g->budget && sqlite3_memory_used() > g->heap_max)
		/* Does not use SQLite's own limit, which would roll back the transaction. */
		g->stopped = GUARD_MEMORY;
	g->steps_left -= g->stopped ? g->steps_left : steps;
	return g->stopped;
}

static int64_t lower_limit(int64_t limit, int64_t other)
{
	return !limit || other < limit ? other : limit; /* 0: absent */
}

/* SQLite's heap limit covers preparing, which runs no steps. */
static void set_limits(struct guard *g)
{
	int64_t used = sqlite3_memory_used();

	g->heap_max = used + GUARD_HEAP_MAX;
	g->soft_heap = sqlite3_soft_heap_limit64(-1);
	g->hard_heap = sqlite3_hard_heap_limit64(-1);
	sqlite3_hard_heap_limit64(lower_limit(g->hard_heap, used + HARD_HEAP_MAX));
	for (size_t i = 0; i < GUARD_LIMITS_NR; i++) {
		g->limits[i] = sqlite3_limit(g->db, limits[i].id, -1);
		if (limits[i].value < g->limits[i])
			sqlite3_limit(g->db, limits[i].id, limits[i].value);
	}
}

static void reset_limits(struct guard *g)
{
	for (size_t i = 0; i < GUARD_LIMITS_NR; i++)
		sqlite3_limit(g->db, limits[i].id, g->limits[i]);
	sqlite3_hard_heap_limit64(g->hard_heap);
	sqlite3_soft_heap_limit64(g->soft_heap);
}

/* Whether a %c of a format has a precision, which repeats the character. Every % counts: a false
 * alarm is better than a miss. */
static bool repeats_character(const char *format)
{
	while ((format = strchr(format, '%'))) {
		size_t len = strspn(++format, "-+ #!,0123456789*.l");

		if (format[len] == 'c' && memchr(format, '.', len))
			return true;
	}
	return false;
}

static void fail_format(sqlite3_context *context, sqlite3 *plain, int rc)
{
	sqlite3_result_error(context, sqlite3_errmsg(plain), -1);
	sqlite3_result_error_code(context, rc);
}

/* Overriding one of SQLite's functions hides it, so the original is called on another
 * connection. */
static void call_format(sqlite3_context *context, int nr, sqlite3_value **values)
{
	sqlite3 *plain = sqlite3_user_data(context);
	const char *text = nr ? (const char *)sqlite3_value_text(values[0]) : NULL;
	char sql[2 * ARGUMENTS_MAX + 32] = "SELECT printf(";
	size_t len = strlen(sql);
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (text && repeats_character(text)) {
		sqlite3_result_error(context,
				     "printf() in a rule cannot repeat a character: leave out the "
				     "precision of %c",
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
		fail_format(context, plain, rc);
	sqlite3_finalize(stmt);
}

static void close_plain(void *plain)
{
	sqlite3_close(plain);
}

/*
 * SQL's printf() and format() without repeated characters: "%.2147483647c" takes 8 s, whatever the
 * length limit. They stay until the connection is closed, because SQLite cannot restore its own.
 * Returns an SQLite code.
 */
static int replace_printf(sqlite3 *db)
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
		/* Closes plain on failure too. */
		rc = sqlite3_create_function_v2(
			db, names[i], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
			plain, call_format, NULL, NULL, close_plain);
	}
	return rc;
}

int guard_enter(struct guard *g, sqlite3 *db, uint64_t steps, struct guard_budget *budget)
{
	/* A JSON table function declares its table on first use, which looks like a schema
	 * change. */
	static const char warm[] = "SELECT 1 FROM json_each('[]'), json_tree('[]')";

	*g = (struct guard){.budget = budget,
			    .steps_left = steps,
			    .began_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID)};
	if (sqlite3_exec(db, warm, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
	    (budget && replace_printf(db) != SQLITE_OK))
		return -EIO;
	g->db = db;
	if (budget)
		set_limits(g);
	/* A connection has only one progress handler; guard_leave() restores the old one. */
	sqlite3_progress_handler(db, budget ? STEPS_EACH_OF_SITE : STEPS_EACH, look_at_progress, g);
	if (sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_set_authorizer(db, authorize, g) != SQLITE_OK)
		return -EIO;
	return 0;
}

void guard_leave(struct guard *g)
{
	uint64_t spent;

	if (!g->db)
		return;
	db_keep_limit(g->db);
	sqlite3_set_authorizer(g->db, NULL, NULL);
	sqlite3_exec(g->db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	if (g->budget) {
		reset_limits(g);
		spent = spent_ns(g);
		g->budget->cpu_ns -= spent < g->budget->cpu_ns ? spent : g->budget->cpu_ns;
	}
	g->db = NULL;
}
