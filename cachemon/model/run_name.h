/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a user calls a run: its number, the beginning of its uuid, "last", "last-1" (the one before
 * it); runs whose command failed to start are not counted. Owns those words, and what a shell may
 * offer where a run or a job is to be named.
 */
#ifndef MODEL_RUN_NAME_H
#define MODEL_RUN_NAME_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/base/errtext.h"

/* SQL: the command of a row of run did start. "last" is never one that did not. */
#define RUN_NAME_STARTED                                                                           \
	"NOT (state = 'complete' AND coalesce(exit_status, 0) IN (126, 127) AND duration_ns = 0)"

/* Whether a word could be one, before a database is opened. */
bool run_name_is(const char *name);
/* 0, or -errno with a line in err: -ENOENT, or -EEXIST where several uuids begin like that. */
int run_name_find(sqlite3 *db, const char *name, int64_t *ret_id, struct errtext *err);

/*
 * Names to complete a word with: a line each, the name, a tab, what it is. A name of characters
 * that cannot be seen has no line: nobody types it. Runs come the newest first, after "last". 0 or
 * -errno, with a line in err.
 */
int run_name_offer_runs(const char *db, FILE *out, struct errtext *err);
int run_name_offer_jobs(const char *db, FILE *out, struct errtext *err);
/* One such line, or nothing. */
void run_name_offer(FILE *out, const char *name, size_t len, const char *what);

#endif
