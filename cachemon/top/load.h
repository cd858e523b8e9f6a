/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of reading a moment, shared by moment.c (intervals, jobs), load_rows.c (files,
 * directories, runs) and top_series.c (one row over time). Owns how counts of several intervals
 * become those of a moment. top_hook_of(), top_counts_none(), top_counts_take() and
 * top_counts_finish() are in moment.c.
 */
#ifndef TOP_LOAD_H
#define TOP_LOAD_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"
#include "cachemon/top/moment.h"

/* Of the per-read hook, in an interval: on all the time, or not. */
enum top_hook { TOP_HOOK_ON, TOP_HOOK_OFF };

enum top_hook top_hook_of(const struct top_moment *m, const struct top_interval *i);

/* Nothing, all of it known. */
struct counts top_counts_none(void);
/* sum += c, of this interval. */
void top_counts_take(const struct top_moment *m, const struct top_interval *i, struct counts *sum,
		     struct counts *c);
/* When all intervals were taken: what was not seen in all of them, and which losses concern it. */
void top_counts_finish(const struct top_moment *m, struct counts *c, unsigned int bounds);

/* Directories or files, and what is in none of their rows. */
int top_rows_load(sqlite3 *db, enum top_level level, struct top_moment *m, struct errtext *err);

/* The jobs of the newest runs. */
int top_runs_load(sqlite3 *db, struct top_moment *m, struct errtext *err);

#endif
