/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job's data besides its counts: its timeline, who evicted its pages, and which parts of its
 * files were read. Owns these types and their queries.
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

/* Pages evicted for one reason; rows > 0: the sum of that many rows. */
struct model_eviction {
	struct bytes cause, kind, job, command, cgroup, directory, owner_directory;
	struct opt_i64 writes, pages;
	int64_t rows;
	bool exact;
};

/* Calls of advice to the traced files, by bucket of the timeline. */
struct model_advice_calls {
	const char *absent; /* the reason if absent; NULL: known */
	int64_t files;	    /* traced files with these calls */
	int64_t incomplete; /* of these, files whose calls are not all known */
	int64_t calls[ADVICE_KINDS][TIMELINE_BUCKETS];
};

/* Read calls of the traced files by requested bytes: below 2, 4, 8, ... bytes. */
enum { READ_SIZES = 41 };

/* The parts of one file. */
struct model_coverage {
	const char *absent; /* why nothing is known by part; NULL: parts is valid */
	const char *broken; /* why the recording ends before the run; NULL: it does not */
	bool sampled;	    /* from the sample of references: only reads */
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
	int64_t reads[READ_SIZES]; /* of the files in advice; if that is absent, so are these */
	struct model_coverage *coverage; /* of job->files, in the same order */
};

/* For a watched job with its files; call it before its counts are estimated. */
int model_detail_load(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err);
/* The part of model_detail_load() that divides files into parts. */
int model_coverage_load(sqlite3 *db, struct model *m, struct model_job *job, struct model_detail *d,
			struct errtext *err);

/*
 * Histograms of sizes, for readahead windows and read calls: labels, values and notes, for pictures
 * of one or two runs. In model_detail.c.
 */
enum { WINDOW_SIZES = C_window_log2_15 - C_window_log2_0 + 1 };

/* "4 to 7" */
struct human sizes_window_name(int i);
/* The smallest request of the bar, in bytes. */
struct human sizes_read_name(int i);
/* false: not measured. */
bool sizes_windows(const struct counts *c, double ret[WINDOW_SIZES]);
const char *sizes_windows_mark(const struct counts *c);
/* Sizes of the read calls of the traced files. */
void sizes_reads(const struct model_detail *d, double ret[READ_SIZES]);
void sizes_say_reads(const struct model_advice_calls *files, char *says, size_t size);
/* The mark of these sizes, over all counted calls to the files. */
const char *sizes_calls_mark(const struct model_advice_calls *files);

/* A job with detail whose files are known to be read from the beginning to the end may have epochs
 * that were not found without that. */
int model_detail_in_order(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err);

#endif
