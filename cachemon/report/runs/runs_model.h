/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The content of a list of runs: all runs and their watched jobs, and each job's history from run
 * to run. Owns the types and the reading; every format reads this.
 */
#ifndef RUNS_MODEL_H
#define RUNS_MODEL_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

/* A job of a run. */
struct runs_job {
	const struct model_job *job;
	const struct model_run *run;
	struct opt_f64 time_s, miss_ratio, stall_share;
	struct range miss_range; /* where miss_ratio is an estimate */
	/* First statements of the report when the run ended; empty: it was not judged. */
	struct bytes answer, letter, finding, title;
	struct opt_f64 score;
	/* The overall grade, from counters alone: a report's grade also uses the curve. */
	struct opt_f64 counters_score;
	char counters_letter; /* 0: none */
	bool mapped;	      /* it reads through mappings: there is no hit ratio to show */
	const char *report;   /* its file; NULL: none was made */
};

/* The runs of jobs with one name, oldest first. */
struct runs_trend {
	struct bytes name;
	const struct runs_job **jobs;
	size_t nr;
	struct picture picture; /* no points for a single run */
};

struct runs_model {
	const char *db, *name; /* its path; its name, as in report_db_named() */
	bool default_db;
	bool since; /* only runs that began since some time */
	struct opt_i64 size_bytes;
	struct model_run *runs;
	size_t nr_runs;
	struct runs_job *jobs; /* by run and slot */
	size_t nr_jobs;
	struct runs_trend *trends; /* jobs whose newest run is newest come first */
	size_t nr_trends;
	struct arena arena;
};

/* Runs that began since then (ns since 1970; 0: all). */
int runs_model_load(sqlite3 *db, const char *path, int64_t since_ns, struct runs_model *ret,
		    struct errtext *err);
void runs_model_free(struct runs_model *m);

/* all: every run; else as many as fit on a page, with the number left out. */
void runs_sections(struct doc *d, const struct runs_model *m, bool all);
void runs_data(struct tree *t, const struct runs_model *m);

#endif
