/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report shows of a job besides its counts: its timeline, who pushed out its pages, and
 * which parts of its files were read. Owns those types and the queries for them.
 */
#ifndef MODEL_DETAIL_H
#define MODEL_DETAIL_H

#include <sqlite3.h>

#include "advisor/analysis/coverage.h"
#include "cachemon/base/errtext.h"
#include "cachemon/base/human.h"
#include "cachemon/figures/counters.h"
#include "cachemon/model/model_epochs.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/timeline.h"

enum { INTERFERENCE_ROWS = 100, ADVICE_KINDS = ADVICE_READAHEAD + 1 };

/* Pages that left the cache for one reason; rows > 0: the sum of so many rows. */
struct model_eviction {
	struct bytes cause, kind, job, command, cgroup, directory, owner_directory;
	struct opt_i64 writes, pages;
	int64_t rows;
	bool exact;
};

/* Calls of advice to the traced files, by bucket of the timeline. */
struct model_advice_calls {
	const char *absent; /* why there are none; NULL: they are known */
	int64_t files;	    /* traced ones, whose calls these are */
	int64_t incomplete; /* of these, of which not all calls are known */
	int64_t calls[ADVICE_KINDS][TIMELINE_BUCKETS];
};

/* Read calls of the traced files by the bytes they asked for: below 2, 4, 8, ... bytes. */
enum { READ_SIZES = 41 };

/* Of one file. */
struct model_coverage {
	const char *absent; /* why nothing is known by part; NULL: parts is known */
	const char *broken; /* why the recording ends before the run; NULL: it does not */
	bool sampled;	    /* by the sample of references: only what was read */
	bool estimated;	    /* the sample does not hold all pages */
	struct coverage *parts;
};

struct model_detail {
	struct timeline timeline;
	struct model_epochs epochs;
	const char *interference_absent; /* NULL: evictions are known */
	struct model_eviction *evictions;
	size_t nr_evictions;
	struct model_advice_calls advice;
	int64_t reads[READ_SIZES];	 /* absent, or of so many files, as advice is */
	struct model_coverage *coverage; /* of job->files, in their order */
};

/* Of a watched job with its files, before estimates are made of its counts. */
int model_detail_load(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err);
/* Part of it. */
int model_coverage_load(sqlite3 *db, struct model *m, struct model_job *job, struct model_detail *d,
			struct errtext *err);

/*
 * Histograms by size, of readahead windows and of read calls: what their bars are called, what is
 * in them, and what is said of them, for pictures of one run or of two. In model_detail.c.
 */
enum { WINDOW_SIZES = C_window_log2_15 - C_window_log2_0 + 1 };

/* "4 to 7" */
struct human sizes_window_name(int i);
/* The fewest bytes that a call of the bar asked for. */
struct human sizes_read_name(int i);
/* false: they were not measured. */
bool sizes_windows(const struct counts *c, double ret[WINDOW_SIZES]);
const char *sizes_windows_mark(const struct counts *c);
/* Of the files that were traced. */
void sizes_reads(const struct model_detail *d, double ret[READ_SIZES]);
void sizes_say_reads(const struct model_advice_calls *files, char *says, size_t size);
/* Of all that was counted of the calls to these files. */
const char *sizes_calls_mark(const struct model_advice_calls *files);

#endif
