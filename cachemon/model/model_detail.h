/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report shows of a job beside its counts: its timeline, who pushed out its pages, and which
 * parts of its files were read. Owns those types and the queries for them.
 */
#ifndef REPORT_MODEL_DETAIL_H
#define REPORT_MODEL_DETAIL_H

#include <sqlite3.h>

#include "advisor/analysis/coverage.h"
#include "cachemon/base/errtext.h"
#include "cachemon/figures/counters.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/timeline.h"

enum { INTERFERENCE_ROWS = 100, ADVICE_KINDS = ADVICE_READAHEAD + 1 };

/* Pages that left the cache for one reason; rows > 0: so many rows together, who is not told. */
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
	const char *interference_absent; /* NULL: evictions are known */
	struct model_eviction *evictions;
	size_t nr_evictions;
	struct model_advice_calls
		advice; /* and so are the calls below absent, or of so many files */
	int64_t reads[READ_SIZES];
	struct model_coverage *coverage; /* of job->files, in their order */
};

/* Of a watched job with its files, before estimates are made of its counts. */
int model_detail_load(sqlite3 *db, struct model *m, struct model_job *job, struct errtext *err);
/* Parts of it. */
int model_interference_load(sqlite3 *db, struct model *m, struct model_job *job,
			    struct model_detail *d, struct errtext *err);
int model_coverage_load(sqlite3 *db, struct model *m, struct model_job *job, struct model_detail *d,
			struct errtext *err);

#endif
