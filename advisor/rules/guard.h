/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits what a rule may do to the connection while it is prepared and run: read tables and views
 * and call functions, for a limited number of steps. A site's rule is untrusted: its CPU time,
 * memory and text lengths are limited too. Between guard_enter() and guard_leave() this owns the
 * connection's authorizer, progress handler, query_only and limits, and SQLite's heap limits.
 */
#ifndef RULES_GUARD_H
#define RULES_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps of SQLite's virtual machine: some seconds, independent of the load. */
enum { GUARD_STEPS_DEFAULT = 100000000 };

/*
 * Some functions take time in the square of their texts' length. At this length the slowest call
 * takes 0.2 s (trim), others 0.02 s; paths, the longest texts of a database, have up to 4 KiB.
 */
enum { GUARD_LENGTH_MAX = 32 * 1024, GUARD_LIMITS_NR = 8 };
/* Of SQLite's heap, above the use at the start of a rule. */
enum { GUARD_HEAP_MAX = 64 * 1024 * 1024 };
enum { GUARD_CPU_MS = 2000, GUARD_TEXT_MAX = 16 * 1024 * 1024 };
/* The weighted number of calls of functions that are slow with long texts: those of one row take
 * at most 1 s. */
enum { GUARD_SEARCHES_MAX = 32 };

/* The limits that remain for all rules of a site together. */
struct guard_budget {
	uint64_t cpu_ns;   /* one rule may use half of it, which leaves some for others */
	size_t text_bytes; /* bytes left for the texts of their rows */
};

enum guard_stop {
	GUARD_NOT_STOPPED,
	GUARD_TIME,
	GUARD_MEMORY,
	GUARD_SEARCHES,
	GUARD_DATABASE, /* the whole work on the database took too long: not the rule's fault */
};

struct guard {
	sqlite3 *db;
	struct guard_budget *budget; /* NULL: a built-in rule */
	uint64_t steps_left;
	uint64_t began_cpu_ns, looked_ns;
	int64_t heap_max, soft_heap, hard_heap; /* the last two: previous values */
	int limits[GUARD_LIMITS_NR];		/* previous values */
	unsigned searches;
	enum guard_stop stopped;
	char refused[128]; /* the forbidden action; "": none */
};

/* budget NULL: only steps are limited. */
int guard_enter(struct guard *g, sqlite3 *db, uint64_t steps, struct guard_budget *budget);
/* Finalize the statements that were prepared inside first. */
void guard_leave(struct guard *g);

#endif
