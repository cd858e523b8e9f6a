/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a rule may do to the connection while it is prepared and runs: read tables and views and
 * call functions, for a bounded number of steps. Owns the authorizer, the progress handler and
 * query_only of the connection between guard_enter() and guard_leave().
 */
#ifndef RULES_GUARD_H
#define RULES_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Steps of SQLite's machine: some seconds, whatever else the machine does. */
enum { GUARD_STEPS_DEFAULT = 100000000 };

struct guard {
	sqlite3 *db;
	uint64_t steps_left;
	bool exhausted;
	char refused[128]; /* what was asked for and not allowed; "": nothing */
};

int guard_enter(struct guard *g, sqlite3 *db, uint64_t steps);
/* Statements that were prepared inside must be finalized. */
void guard_leave(struct guard *g);

#endif
