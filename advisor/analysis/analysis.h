/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Analyses a run: creates the views and models on a read-only connection, then evaluates the rules.
 * Owns the order of these steps and their results. It opens no database and prints nothing;
 * everything that it creates in TEMP is dropped before it returns.
 */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include <sqlite3.h>

#include "advisor/analysis/grade.h"
#include "advisor/rules/finding.h"
#include "advisor/analysis/job_curve.h"
#include "advisor/rules/rule_set.h"
#include "advisor/series/series.h"
#include "advisor/readahead/whatif_readahead.h"
#include "cachemon/base/progress.h"

struct analysis_options {
	const struct rule_dirs *dirs; /* the site's rules; NULL: only built-in rules */
	uint64_t steps;		      /* limit of a rule; 0: the default */
	const struct progress_sink *progress;
};

/* A rule that could not be judged for a job. */
struct analysis_unjudged {
	int64_t job_id;
	const struct rule *rule;
	const char *reason; /* "could not be judged, because ..." */
};

struct analysis_grade {
	const char *letter; /* NULL: none */
	struct opt_f64 score;
	const char *formula; /* or why it is absent */
};

struct analysis_verdict {
	int64_t advice_id;
	const char *verdict; /* NULL: not judged */
	const char *why;
};

/* How a file or a directory is read. */
struct analysis_pattern {
	bool directory;
	int64_t subject_id; /* file.id or directory.id */
	const char *name;
	struct opt_f64 confidence;
	const char *features; /* JSON object */
};

/* The grades of the files of one directory. */
struct analysis_directory {
	int64_t id;
	struct analysis_grade grades[GRADE_NR];
};

/* A watched job. */
struct analysis_job {
	int64_t id;
	struct analysis_grade grades[GRADE_NR];
	struct ceiling ceiling;
	bool several; /* its tasks ran in parallel: their stalls may overlap */
	/* Findings by gain, the largest first; merged findings come last. */
	const struct finding *findings;
	size_t nr_findings; /* findings that stay */
	size_t nr_all;
	size_t nr_fixes; /* the first findings, whose gain is large enough to fix */
	struct gain_scale scale;
};

/* The results of the models for a watched job. */
struct analysis_model {
	int64_t job_id;
	struct job_curve curve;
	struct whatif_readahead readahead;
};

struct analysis {
	struct rule_set rules; /* also holds the problems of a run of its rules */
	struct analysis_job *jobs;
	size_t nr_jobs;
	struct series_job *series; /* one for each job */
	struct analysis_model *models;
	size_t nr_models;
	struct analysis_unjudged *unjudged;
	size_t nr_unjudged;
	struct analysis_verdict *verdicts; /* by advice_id */
	size_t nr_verdicts;
	struct analysis_pattern *patterns; /* files before directories, by subject_id */
	size_t nr_patterns;
	struct analysis_directory *directories; /* by id */
	size_t nr_directories;
};

/* 0, or -errno with a line in err. A faulty rule is not an error; see rules.problems. */
int analysis_run(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
		 struct analysis *ret, struct errtext *err);
void analysis_free(struct analysis *a);

/* NULL if it is not a watched job. */
const struct analysis_job *analysis_job_of(const struct analysis *a, int64_t job_id);
const struct series_job *analysis_series_of(const struct analysis *a, int64_t job_id);
const struct analysis_model *analysis_model_of(const struct analysis *a, int64_t job_id);
const struct analysis_verdict *analysis_verdict_of(const struct analysis *a, int64_t advice_id);
const struct analysis_pattern *analysis_pattern_of(const struct analysis *a, bool directory,
						   int64_t subject_id);
const struct analysis_directory *analysis_directory_of(const struct analysis *a, int64_t id);
/* The result of the analysis of a job. */
enum analysis_answer {
	ANSWER_FIX,	    /* the first nr_fixes findings gain enough to be fixed */
	ANSWER_NOTHING,	    /* nothing is worth changing */
	ANSWER_UNEXPLAINED, /* no finding to fix, but the job waits or has grade D or worse */
	ANSWER_TOO_LITTLE,  /* too little was read to judge */
	ANSWER_UNKNOWN,	    /* no finding to fix, and some rules could not be judged */
	ANSWER_NR
};
extern const char *const analysis_answers[ANSWER_NR];
enum analysis_answer analysis_answer(const struct analysis *a, const struct analysis_job *job);

/* True if the rule was judged for this job and did not hold. */
bool analysis_passed(const struct analysis *a, const struct analysis_job *job,
		     const struct rule *rule);

#endif
