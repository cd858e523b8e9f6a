/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A moment of a run: the intervals up to it, and their counts by job, directory or file. Owns these
 * types and their reading; the database is read-only, as for any report. top_rows_load() and
 * top_runs_load() are in load_rows.c, top_series_load() is in top_series.c.
 */
#ifndef TOP_MOMENT_H
#define TOP_MOMENT_H

#include "cachemon/base/errtext.h"
#include "cachemon/model/model.h"
#include "cachemon/top/view.h"

enum { TOP_HISTORY = 120, TOP_WINDOW = 16, TOP_RUNS_MAX = 128 };

struct top_interval {
	int64_t id, start_ns, duration_ns, read_on_ns;
};

struct top_row {
	int64_t id; /* id of the job, directory or file; 0: the rest without a row */
	struct bytes name;
	const char *lead; /* fixed text before the name, or instead of it if name.data is NULL */
	int64_t run_id;	  /* run of the row; 0: that of the moment */
	int64_t duration_ns, page_size_bytes; /* of the row's run */
	bool first;			      /* sorted first in any order: it is being recorded */
	bool last;			      /* not sorted with the others: (others) */
	struct counts counts;
	struct opt_i64 cpu_ns;
	bool process; /* a process: only waits are known, and its reads from any source: */
	struct opt_i64 rchar_bytes, syscr_calls;
	size_t nr_intervals; /* intervals of the moment in which the row exists; only for jobs */
};

struct top_moment {
	struct model model;			  /* the run as a whole; totals are not used */
	struct top_interval history[TOP_HISTORY]; /* newest first */
	size_t nr_history;			  /* 0: no interval yet */
	size_t nr_window;			  /* the first ones, which make up the moment */
	int64_t duration_ns;			  /* length of these intervals together */
	bool newest;				  /* no later interval exists yet */
	bool has_directories; /* the history has sums of directories, else only those of files */
	struct top_row *jobs; /* the watched one first */
	size_t nr_jobs;
	struct top_row *rows; /* rows of the level */
	size_t nr_rows;
	/* Next to the rows of another level; NULL: not requested. Of many small files few have
	 * rows, and next to jobs these are directories then. */
	struct top_row *files;
	size_t nr_files;
	enum top_level files_level;
	struct top_row *processes; /* next to them */
	size_t nr_processes;
	struct arena arena;
};

/* Counts of one row, interval by interval. */
struct top_series {
	struct counts counts[TOP_HISTORY]; /* as top_moment.history */
	bool known[TOP_HISTORY];
	enum top_level level;
	int64_t id;
	struct top_interval intervals[TOP_HISTORY]; /* the row and level they were read for */
	size_t nr;
};

struct top_ask {
	int64_t run_id;
	enum top_level level;
	int64_t at_ns; /* or TOP_NEWEST */
	int steps;
	bool files;	   /* also load files and processes, whatever the level */
	int64_t directory; /* for the level of files: the one whose other files have a row; 0: none
			    */
};

struct sqlite3;
/* 0, or -errno with a line in err. top_moment_free() frees the data. */
int top_moment_load(struct sqlite3 *db, const struct top_ask *ask, struct top_moment *ret,
		    struct errtext *err);
void top_moment_free(struct top_moment *m);
/* Loads the row of that id and level, over the history of the moment. Data that series already
 * holds of that row is not read again; a zeroed series holds none. */
int top_series_load(struct sqlite3 *db, const struct top_moment *m, enum top_level level,
		    int64_t id, struct top_series *series, struct errtext *err);

int64_t top_moment_end_ns(const struct top_moment *m);
const struct top_row *top_moment_job(const struct top_moment *m); /* the watched one, or NULL */

/*
 * Internal to reading a moment, for moment.c (intervals, jobs), load_rows.c (files, directories,
 * runs) and top_series.c (one row over time): how counts of several intervals become those of a
 * moment.
 */

/* Whether the per-read hook was on throughout an interval. */
enum top_hook { TOP_HOOK_ON, TOP_HOOK_OFF };

enum top_hook top_hook_of(const struct top_moment *m, const struct top_interval *i);

/* All counts 0 and known. */
struct counts top_counts_none(void);
/* sum += c, for this interval. */
void top_counts_take(const struct top_moment *m, const struct top_interval *i, struct counts *sum,
		     struct counts *c);
/* After all intervals: marks counters that were not seen in all of them, and the losses that
 * affect them. */
void top_counts_finish(const struct top_moment *m, struct counts *c, unsigned int bounds);

/* Directories or files, and the rest without a row; of files also the rest of that directory,
 * unless it is 0. */
int top_rows_load(struct sqlite3 *db, enum top_level level, int64_t directory, struct top_moment *m,
		  struct top_row **ret_rows, size_t *ret_nr, struct errtext *err);

/* Processes that waited, and the rest of the job's waiting. */
int top_processes_load(struct sqlite3 *db, struct top_moment *m, struct top_row **ret_rows,
		       size_t *ret_nr, struct errtext *err);

/* The jobs of the newest runs. */
int top_runs_load(struct sqlite3 *db, struct top_moment *m, struct errtext *err);

#endif
