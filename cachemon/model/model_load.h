/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a model from a database: which run, which job, how many files. Owns the query; reads the
 * database in one transaction. model_all_jobs(), model_jobs_load() and model_job_rows_load() are in
 * model_job.c.
 */
#ifndef MODEL_LOAD_H
#define MODEL_LOAD_H

#include "cachemon/base/errtext.h"
#include "cachemon/model/model.h"

enum { MODEL_RUN_LAST = -1 };

struct model_query {
	int64_t run_id;	 /* or MODEL_RUN_LAST */
	const char *job; /* NULL: all jobs and "(others)" */
	size_t files;	 /* files listed per job */
	bool totals_only;
	bool advice_only; /* rows of a job: directories, advice */
	bool detail_only; /* no rows of a job, but its timeline and read sizes */
};

struct sqlite3;
/* 0, or -errno with a line in err. Call model_free() after an error too. */
int model_load(struct sqlite3 *db, const struct model_query *query, struct model *ret,
	       struct errtext *err);
void model_free(struct model *m);

/* Notes the jobs with this name or KIND:NAME[.STEP], of all runs, for "wanted" below. */
int model_want_job(struct sqlite3 *db, const char *job, struct errtext *err);
/* All runs from this id, by id, and their watched jobs, by run and slot: rows only, for long
 * lists. Counts are as from model_load(). wanted: only the noted jobs, with their names, and
 * their runs. Call both in one transaction. */
int model_all_runs(struct sqlite3 *db, struct arena *a, int64_t first_id, bool wanted,
		   struct model_run **ret, size_t *ret_nr, struct errtext *err);
/* ret_run: the index in runs of each job's run. */
int model_all_jobs(struct sqlite3 *db, struct arena *a, bool wanted, const struct model_run *runs,
		   size_t nr_runs, struct model_job **ret, size_t **ret_run, size_t *ret_nr,
		   struct errtext *err);
/* The table of the noted jobs: id, run_id. */
#define MODEL_WANTED "temp.wanted_job"

/* Parts of model_load(). */
int model_jobs_load(struct sqlite3 *db, struct model *m, struct errtext *err);
/* Loads files, directories, advice and timeline, and estimates the counts of a sliced run. */
int model_job_rows_load(struct sqlite3 *db, const struct model_query *query, struct model *m,
			struct model_job *job, struct errtext *err);

#endif
