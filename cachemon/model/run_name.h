/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of runs: the number, the beginning of the uuid, "last", "last-1" (the one before it);
 * for the last two, runs whose command failed to start do not count. Digits alone are always a
 * number; a uuid's beginning has at least 8 characters. Owns these words, and what a shell offers
 * as names of runs and jobs.
 */
#ifndef MODEL_RUN_NAME_H
#define MODEL_RUN_NAME_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/base/errtext.h"

/* An SQL condition on a row of run: its command did start. "last" means only such runs. */
#define RUN_NAME_STARTED                                                                           \
	"NOT (state = 'complete' AND coalesce(exit_status, 0) IN (126, 127) AND duration_ns = 0)"

/* The forms, for messages about another word. */
#define RUN_NAME_FORMS                                                                             \
	"its number, the first 8 or more characters of its uuid (with a dash if they are all "     \
	"digits), last or last-1"

/* "last" or "last-N", with N; false: not such a name. */
bool run_name_last(const char *name, uint64_t *ret_back);
/* Whether a word could be a name; needs no database. */
bool run_name_is(const char *name);
/* 0, or -errno with a line in err: -ENOENT, or -EEXIST if several uuids begin like that. */
int run_name_find(sqlite3 *db, const char *name, int64_t *ret_id, struct errtext *err);

/*
 * Prints completions: one line per name, with the name, a tab, and a description. A name with
 * invisible characters has no line, because nobody can type it. Runs come newest first, after
 * "last". 0 or -errno, with a line in err.
 */
int run_name_offer_runs(const char *db, FILE *out, struct errtext *err);
int run_name_offer_jobs(const char *db, FILE *out, struct errtext *err);
/* One such line, or nothing. */
void run_name_offer(FILE *out, const char *name, size_t len, const char *what);

#endif
