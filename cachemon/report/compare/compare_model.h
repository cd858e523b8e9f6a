/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The content of a comparison: two runs as in a report, and each job of all runs with the judgement
 * of its intervals. If a side has several runs, the one with the median time is shown. Owns the
 * types and the reading; every format reads this. compare_answer*() are in compare_answer.c;
 * compare_interval() and compare_mark*() in compare_show.c; compare_test_name(), compare_method(),
 * compare_why(), compare_runs_missing(), compare_command() and compare*_sentence() are in
 * compare_prose.c; compare_grades() and
 * compare_found() are in compare_findings.c.
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

/* How a job's finding changed from one run to the other, by rule and subject. */
enum finding_fate {
	FINDING_STILL,
	FINDING_NEW,
	FINDING_GONE,
	FINDING_UNJUDGED, /* the rule could not be judged in the run without it */
	FINDING_FATE_NR,
};

extern const char *const finding_fate_names[FINDING_FATE_NR];

struct compare_finding {
	enum finding_fate fate;
	const struct finding *of[2]; /* NULL: not found in that run; at least one is set */
	const char *unjudged;	     /* why */
};

/* A fact of the machine or the measurement that differs between the runs. Unknown: "". */
struct compare_fact {
	struct bytes what, value[2];
};

struct compare_job {
	const struct model_job *job[2]; /* the job in the shown runs */
	struct compare_run run[2];	/* the shown runs */
	struct compare_run *runs[2];	/* all runs of each side */
	struct compare_result result;
	struct compare_pictures pictures;
	struct compare_finding *findings;
	size_t nr_findings;
};

/* The runs before or after the change. */
struct compare_side {
	struct model *runs; /* heads and totals */
	size_t nr;
	size_t shown; /* the one with the median time */
};

struct compare_model {
	const char *db; /* as in struct model */
	struct compare_side side[2];
	bool same;	       /* a run is compared with itself */
	struct model model[2]; /* the shown ones */
	struct analysis analysis[2];
	struct compare_job *jobs;
	size_t nr_jobs;
	struct compare_fact *facts; /* the ones that differ */
	size_t nr_facts;
	struct arena arena; /* intervals, pictures, facts */
};

/* Whether a difference is more than chance. */
enum compare_mark { MARK_REAL, MARK_NOISE, MARK_NOT_JUDGED, MARK_NR };
enum compare_mark compare_mark(const struct compare_row *row);
/* The 95 % interval of a difference, for this figure alone; false: not tested. */
bool compare_interval(const struct compare_row *row, double *ret_low, double *ret_high);

/* Call compare_model_free() after an error too. */
bool compare_several(const struct compare_model *m);
int compare_model_load(sqlite3 *db, const struct compare_options *options,
		       struct compare_model *ret, struct errtext *err);
void compare_model_free(struct compare_model *m);

/* Remaining findings first, then new ones, then the others, each by gain. Merged findings follow
 * the one that stays; the summary of the others (nothing-wrong) is left out. The arena notes a
 * failed allocation. */
void compare_findings_make(struct arena *a, const struct analysis *const analysis[2],
			   const struct model_job *const job[2], struct compare_finding **ret,
			   size_t *ret_nr);

/* The finding after the change if it exists, else the one before. */
const struct finding *compare_finding_shown(const struct compare_finding *c);

/* The verdict of a job as one sentence, without its names. */
void compare_sentence(FILE *out, const struct compare_result *r);
/* How many more runs a side needs before the time can be judged; 0: enough, or it was judged. */
size_t compare_runs_missing(const struct compare_model *m, const struct compare_job *job);
/* The command that compares these runs and the missing ones, made last and in turn. */
void compare_command(FILE *out, const struct compare_model *m, const struct compare_job *job);
/* The change of the time, with its interval, or why it is unknown. */
void compare_time_sentence(FILE *out, const struct compare_job *job);
/* "real", in words; with its shape "● real, better". */
const char *compare_mark_name(enum compare_mark mark);
const char *compare_mark_text(const struct compare_row *row);
/* The name of a test, and sentences that describe it. */
const char *compare_test_name(enum compare_test test);
const char *compare_method(enum compare_test test);
/* Why a row was not tested, as a sentence. */
const char *compare_why(const struct compare_row *row);

void compare_data(struct tree *t, const struct compare_model *m);
/* page: whether to begin with a picture. */
void compare_sections(struct doc *d, const struct compare_model *m, bool page);

/* The first part: a small table, on a page after a picture. The arena notes a failed allocation. */
void compare_answer(struct doc *d, const struct compare_job *job);
void compare_answer_make(struct arena *a, const struct compare_model *m, size_t at,
			 struct picture *ret);
/* Parts of compare_sections(). */
void compare_figures(struct doc *d, const struct compare_job *job);
void compare_grades(struct doc *d, const struct compare_model *m, const struct compare_job *job);
void compare_found(struct doc *d, const struct compare_model *m, const struct compare_job *job);

#endif
