/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of reading a moment, shared by load.c (intervals, jobs), load_rows.c (files, directories)
 * and series.c (one row over time). Owns how counts of several intervals become those of a moment.
 */
#ifndef TOP_LOAD_H
#define TOP_LOAD_H

#include <sqlite3.h>

#include "top/moment.h"

/* Of the per-read hook, in an interval. */
enum top_hook { TOP_HOOK_ON, TOP_HOOK_OFF, TOP_HOOK_MIXED };

enum top_hook top_hook_of(const struct top_moment *m, const struct top_interval *i);

/* Nothing, all of it known. */
struct counts top_counts_none(void);
/* sum += c, of this interval: what only the hook sees counts while it is on. */
void top_counts_take(const struct top_moment *m, const struct top_interval *i, struct counts *sum,
		     struct counts *c);
/* When all intervals were taken: estimates, and which losses concern it. */
void top_counts_finish(const struct top_moment *m, struct counts *c, unsigned int bounds,
		       struct slice_carry *carry);

/* Directories or files, and what is in none of their rows. */
int top_rows_load(sqlite3 *db, enum top_level level, struct top_moment *m, char *err,
		  size_t errlen);

/* The jobs of the newest runs. */
int top_runs_load(sqlite3 *db, struct top_moment *m, char *err, size_t errlen);

#endif
