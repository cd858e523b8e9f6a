/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results of an analysis, in a report and in `advise`: as objects of the tree, and as sections of a
 * document. Owns keys and words of findings, grades, verdicts and the accelerator's ceiling.
 * data_*() are in data_findings.c; findings_answer*(), sections_judgement(), sections_grades() and
 * sections_directory_grades() are in sections_grades.c; all others are in sections_findings.c.
 */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "advisor/analysis/analysis.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

/* NULL: the job was not analysed. */
const struct analysis_job *findings_of(const struct model *m, const struct model_job *job);

/* The models' results for the job; NULL: the job was not analysed. */
const struct analysis_model *findings_models(const struct model *m, const struct model_job *job);

/* The job's duration without waiting for the page cache, in nanoseconds. */
struct opt_i64 findings_without_waiting(const struct model *m, const struct model_job *job);

/* Keys of a job: grades, grade_details, accelerator_ceiling, findings, gain_order, not_judged,
 * passed, series. */
void data_findings(struct tree *t, const struct model *m, const struct model_job *job);
/* The same for a directory: only grades and grade_details. */
void data_directory_grades(struct tree *t, const struct model *m, int64_t id);
/* "verdict" and "verdict_why" of a piece of advice. */
void data_verdict(struct tree *t, const struct model *m, int64_t advice_id);
/* The whole of `advise`. */
void data_advise(struct tree *t, const struct model *m);
int csv_advise(FILE *out, const struct model *m);

/* The three with the largest gain, and the remaining ones. */
void sections_to_change(struct doc *d, const struct model *m, const struct model_job *job);
/* The result for a job without a fix, without a full stop; "" if there is a fix. */
const char *findings_answer_text(enum analysis_answer answer);
const char *findings_answer(const struct model *m, const struct analysis_job *a);
/* The verdict, in two sentences. */
void sections_judgement(struct doc *d, const struct model *m, const struct model_job *job);
/* The job's grades, with the accelerator's ceiling. */
void sections_grades(struct doc *d, const struct model *m, const struct model_job *job);
void sections_directory_grades(struct doc *d, const struct model *m, const struct model_job *job);
void sections_passed(struct doc *d, const struct model *m, const struct model_job *job);
void sections_not_judged(struct doc *d, const struct model *m, const struct model_job *job);
/* Advice calls of the job with their verdicts. */
void sections_verdicts(struct doc *d, const struct model *m, const struct model_job *job);
void sections_advise(struct doc *d, const struct model *m);

/* "about 12 s (measured)", "at most 1.2 GiB (bound)", "not known". */
struct gain_text {
	char s[192];
};
struct gain_text finding_gain(const struct gain *g);

#endif
