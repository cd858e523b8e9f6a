/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a rule may do to the connection while it is prepared and runs: read tables and views and
 * call functions, for a bounded number of steps. A site's rule may be by anybody: it is also
 * limited in CPU time, memory and the length of its texts. Between guard_enter() and guard_leave()
 * this owns the connection's authorizer, progress handler, query_only and limits, and SQLite's heap
 * limits.
 */
#ifndef RULES_GUARD_H
#define RULES_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps of SQLite's machine: some seconds, whatever else the machine does. */
enum { GUARD_STEPS_DEFAULT = 100000000 };

/*
 * Some functions take time in the square of their texts' length. At this length the slowest call
 * takes 0.2 s (trim), others 0.02 s, and paths, the longest texts of a database, have 4 KiB.
 */
enum { GUARD_LENGTH_MAX = 32 * 1024, GUARD_LIMITS_NR = 8 };
/* Of SQLite's heap, above what is in use when a rule begins. */
enum { GUARD_HEAP_MAX = 64 * 1024 * 1024 };
enum { GUARD_CPU_MS = 2000, GUARD_TEXT_MAX = 16 * 1024 * 1024 };
/* Calls of functions that are slow with long texts, weighed: those of one row take 1 s at most. */
enum { GUARD_SEARCHES_MAX = 32 };

/* The remaining allowance of all rules of a site together. */
struct guard_budget {
	uint64_t cpu_ns;   /* of which one rule may take half, so that some is left for others */
	size_t text_bytes; /* of their rows */
};

enum guard_stop {
	GUARD_NOT_STOPPED,
	GUARD_TIME,
	GUARD_MEMORY,
	GUARD_SEARCHES,
	GUARD_DATABASE, /* all that is done with the database took too long: no fault of the rule's
			 */
};

struct guard {
	sqlite3 *db;
	struct guard_budget *budget; /* NULL: a rule of the program */
	uint64_t steps_left;
	uint64_t began_cpu_ns, looked_ns;
	int64_t heap_max, soft_heap, hard_heap; /* the last two: as they were before */
	int limits[GUARD_LIMITS_NR];		/* the same */
	unsigned searches;
	enum guard_stop stopped;
	char refused[128]; /* what was asked for and not allowed; "": nothing */
};

/* budget NULL: steps are limited, nothing else. */
int guard_enter(struct guard *g, sqlite3 *db, uint64_t steps, struct guard_budget *budget);
/* Statements that were prepared inside must be finalized. */
void guard_leave(struct guard *g);

#endif
