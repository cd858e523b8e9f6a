/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a comparison contains: both runs as a report has them, and each job that is in both with
 * the judgement of its intervals. Owns the types and the reading; every format reads this.
 * compare_grades() is in compare_found.c; compare_interval() and compare_time_sentence() are in
 * compare_mark.c; compare_test_name(), compare_method(), compare_why() and compare_sentence()
 * are in compare_prose.c; compare_facts_data() is in compare_sides_data.c.
 */
#ifndef REPORT_COMPARE_MODEL_H
#define REPORT_COMPARE_MODEL_H

#include <sqlite3.h>

#include "advisor/analysis/analysis.h"
#include "advisor/compare/compare.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/compare/compare_report.h"
#include "cachemon/report/compare/compare_findings.h"
#include "cachemon/report/compare/compare_pictures.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

struct compare_job {
	const struct model_job *job[2];
	struct compare_run run[2];
	struct compare_result result;
	struct compare_pictures pictures;
	struct compare_finding *findings;
	size_t nr_findings;
};

struct compare_model {
	struct model model[2];
	struct analysis analysis[2];
	struct compare_job *jobs;
	size_t nr_jobs;
	struct compare_fact *facts; /* that are not the same */
	size_t nr_facts;
	struct arena arena; /* intervals, pictures, facts */
};

/* Is a difference more than chance? */
enum compare_mark { MARK_REAL, MARK_NOISE, MARK_NOT_JUDGED, MARK_NR };
enum compare_mark compare_mark(const struct compare_row *row);
/* Where the difference lies with 95 % confidence, of this figure alone; false: not tested. */
bool compare_interval(const struct compare_row *row, double *ret_low, double *ret_high);

/* compare_model_free() also what failed to load. */
int compare_model_load(sqlite3 *db, const struct compare_options *options,
		       struct compare_model *ret, struct errtext *err);
void compare_model_free(struct compare_model *m);

/* The verdict of a job as one sentence, without its names. */
void compare_sentence(FILE *out, const struct compare_result *r);
/* The change of the time it took, with where it lies, or why that is not known. */
void compare_time_sentence(FILE *out, const struct compare_job *job);
/* "real", in words; with its shape "● real, better". */
const char *compare_mark_name(enum compare_mark mark);
const char *compare_mark_text(const struct compare_row *row);
/* The name of a test, and what it does, sentences. lone: where one run is short. */
const char *compare_test_name(bool lone);
const char *compare_method(bool lone);
/* Why a row was not tested, a sentence. */
const char *compare_why(const struct compare_row *row);

void compare_data(struct tree *t, const struct compare_model *m);
void compare_sections(struct doc *d, const struct compare_model *m);

/* Parts of them. */
void compare_figures(struct doc *d, const struct compare_job *job);
void compare_grades(struct doc *d, const struct compare_model *m, const struct compare_job *job);
void compare_found(struct doc *d, const struct compare_job *job);
/* Keys of a job. */
void compare_sides_data(struct tree *t, const struct compare_model *m,
			const struct compare_job *job);
void compare_facts_data(struct tree *t, const struct compare_model *m);

#endif
