/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a model from a database: which run, which job, how many files. Owns the query; the
 * database is only read, in one transaction.
 */
#ifndef REPORT_MODEL_LOAD_H
#define REPORT_MODEL_LOAD_H

#include "report/model.h"

enum { MODEL_RUN_LAST = -1 };

struct model_query {
	int64_t run_id;	 /* or MODEL_RUN_LAST */
	const char *job; /* NULL: all jobs and "(others)" */
	size_t files;	 /* files listed of each job */
	bool totals_only;
	bool advice_only; /* of the rows of a job: directories, advice */
	bool detail;	  /* with the rows: what only the formats for programs show */
};

struct sqlite3;
/* 0, or -errno with a line in err. model_free() also what failed to load. */
int model_load(struct sqlite3 *db, const struct model_query *query, struct model *ret, char *err,
	       size_t errlen);
void model_free(struct model *m);

#endif
