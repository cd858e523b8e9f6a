/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a comparison contains: both runs as a report has them, and each job that is in both with
 * the judgement of its intervals. Owns the types and the reading; every format reads this.
 */
#ifndef REPORT_COMPARE_MODEL_H
#define REPORT_COMPARE_MODEL_H

#include <sqlite3.h>

#include "advisor/compare/compare.h"
#include "report/compare.h"
#include "report/doc.h"
#include "report/model.h"
#include "report/tree.h"

struct compare_job {
	const struct model_job *job[2];
	struct compare_run run[2];
	struct compare_result result;
};

struct compare_model {
	struct model model[2];
	struct compare_job *jobs;
	size_t nr_jobs;
	struct arena arena; /* the intervals */
};

/* compare_model_free() also what failed to load. */
int compare_model_load(sqlite3 *db, const struct compare_options *options,
		       struct compare_model *ret, char *err, size_t errlen);
void compare_model_free(struct compare_model *m);

/* The verdict of a job as one sentence, without its names. */
void compare_sentence(FILE *out, const struct compare_result *r);
/* The name of a test, and what it does, sentences. lone: where one run is short. */
const char *compare_test_name(bool lone);
const char *compare_method(bool lone);
/* Why a row was not tested, a sentence. */
const char *compare_why(const struct compare_row *row);

void compare_data(struct tree *t, const struct compare_model *m);
void compare_sections(struct doc *d, const struct compare_model *m);

#endif
