/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a comparison contains: two runs as a report has them, and each job that is in all runs with
 * the judgement of its intervals. Where a side has several runs, the one of median time is shown.
 * Owns the types and the reading; every format reads this. compare_answer*() are in
 * compare_answer.c; compare_interval() and compare_mark*() in compare_show.c; compare_test_name(),
 * compare_method(), compare_why() and compare*_sentence() are in compare_prose.c; compare_grades()
 * and compare_found() are in compare_findings.c.
 */
#ifndef COMPARE_MODEL_H
#define COMPARE_MODEL_H

#include <sqlite3.h>

#include "advisor/analysis/analysis.h"
#include "advisor/compare/compare.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/compare/compare_report.h"
#include "cachemon/report/compare/compare_pictures.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

/* What became of a finding of a job from one run to the other, by rule and subject. */
enum finding_fate {
	FINDING_STILL,
	FINDING_NEW,
	FINDING_GONE,
	FINDING_UNJUDGED, /* the run without it could not be judged by its rule */
	FINDING_FATE_NR,
};

extern const char *const finding_fate_names[FINDING_FATE_NR];

struct compare_finding {
	enum finding_fate fate;
	const struct finding *of[2]; /* NULL: not found in that run; one is there */
	const char *unjudged;	     /* why */
};

/* A fact of the machine or of the measurement that both runs do not share. Not known: "". */
struct compare_fact {
	struct bytes what, value[2];
};

struct compare_job {
	const struct model_job *job[2]; /* of the runs that are shown */
	struct compare_run run[2];	/* likewise */
	struct compare_run *runs[2];	/* of all runs of a side */
	struct compare_result result;
	struct compare_pictures pictures;
	struct compare_finding *findings;
	size_t nr_findings;
};

/* The runs before the change, or after it. */
struct compare_side {
	struct model *runs; /* heads and totals */
	size_t nr;
	size_t shown; /* the one of median time */
};

struct compare_model {
	struct compare_side side[2];
	bool same;	       /* a run is compared with itself */
	struct model model[2]; /* the ones that are shown */
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
bool compare_several(const struct compare_model *m);
int compare_model_load(sqlite3 *db, const struct compare_options *options,
		       struct compare_model *ret, struct errtext *err);
void compare_model_free(struct compare_model *m);

/* Those that are there still first, then new ones, then the others, each in the order of what they
 * gain; those that were merged follow the one that stays, and what sums up the others
 * (nothing-wrong) is left out. A failed allocation is the arena's. */
void compare_findings_make(struct arena *a, const struct analysis *const analysis[2],
			   const struct model_job *const job[2], struct compare_finding **ret,
			   size_t *ret_nr);

/* The finding as it is after, if it is there, else as it was before. */
const struct finding *compare_finding_shown(const struct compare_finding *c);

/* The verdict of a job as one sentence, without its names. */
void compare_sentence(FILE *out, const struct compare_result *r);
/* The change of the time it took, with where it lies, or why that is not known. */
void compare_time_sentence(FILE *out, const struct compare_job *job);
/* "real", in words; with its shape "● real, better". */
const char *compare_mark_name(enum compare_mark mark);
const char *compare_mark_text(const struct compare_row *row);
/* The name of a test, and what it does, sentences. */
const char *compare_test_name(enum compare_test test);
const char *compare_method(enum compare_test test);
/* Why a row was not tested, a sentence. */
const char *compare_why(const struct compare_row *row);

void compare_data(struct tree *t, const struct compare_model *m);
/* page: a picture comes first. */
void compare_sections(struct doc *d, const struct compare_model *m, bool page);

/* What comes first: a small table, and before it on a page a picture. A failed allocation is the
 * arena's. */
void compare_answer(struct doc *d, const struct compare_job *job);
void compare_answer_make(struct arena *a, const struct compare_model *m, size_t at,
			 struct picture *ret);
/* Parts of them. */
void compare_figures(struct doc *d, const struct compare_job *job);
void compare_grades(struct doc *d, const struct compare_model *m, const struct compare_job *job);
void compare_found(struct doc *d, const struct compare_model *m, const struct compare_job *job);

#endif
