/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The analysis of a run: views and models on a connection that is only read, then the rules. Owns
 * the order of all that and what it came to. Opens nothing, prints nothing; what it makes in TEMP
 * is gone when it returns.
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
	const struct rule_dirs *dirs; /* of a site's rules; NULL: the program's own alone */
	uint64_t steps;		      /* bound of a rule; 0: the default */
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
	const char *formula; /* or why there is none */
};

struct analysis_verdict {
	int64_t advice_id;
	const char *verdict; /* NULL: could not be judged */
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

/* What a job read in one directory. */
struct analysis_directory {
	int64_t id;
	struct analysis_grade grades[GRADE_NR];
};

/* A watched job. */
struct analysis_job {
	int64_t id;
	struct analysis_grade grades[GRADE_NR];
	struct ceiling ceiling;
	bool several; /* its tasks ran at the same time: stalls may overlap */
	/* Those that stay, by what they gain; behind them those that were merged into these. */
	const struct finding *findings;
	size_t nr_findings; /* that stay */
	size_t nr_all;
	size_t nr_fixes; /* of those that stay, the first: they gain enough to be fixed */
	struct gain_scale scale;
};

/* What the models say of a watched job. */
struct analysis_model {
	int64_t job_id;
	struct job_curve curve;
	struct whatif_readahead readahead;
};

struct analysis {
	struct rule_set rules; /* problems of a run of theirs are among its problems */
	struct analysis_job *jobs;
	size_t nr_jobs;
	struct series_job *series; /* of each of jobs */
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

/* 0, or -errno with a line in err; rules that are wrong are no failure, see rules.problems. */
int analysis_run(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
		 struct analysis *ret, struct errtext *err);
void analysis_free(struct analysis *a);

/* NULL: it is not a watched job. */
const struct analysis_job *analysis_job_of(const struct analysis *a, int64_t job_id);
const struct series_job *analysis_series_of(const struct analysis *a, int64_t job_id);
const struct analysis_model *analysis_model_of(const struct analysis *a, int64_t job_id);
const struct analysis_verdict *analysis_verdict_of(const struct analysis *a, int64_t advice_id);
const struct analysis_pattern *analysis_pattern_of(const struct analysis *a, bool directory,
						   int64_t subject_id);
const struct analysis_directory *analysis_directory_of(const struct analysis *a, int64_t id);
/* What a job's analysis comes to. */
enum analysis_answer {
	ANSWER_FIX,	    /* a finding gains enough to be fixed: the first nr_fixes */
	ANSWER_NOTHING,	    /* nothing is worth changing */
	ANSWER_UNEXPLAINED, /* no finding is to be fixed, and the job waits or is graded D or worse
			     */
	ANSWER_TOO_LITTLE,  /* too little was read to judge */
	ANSWER_UNKNOWN,	    /* no finding is to be fixed, and not all rules could be judged */
	ANSWER_NR
};
extern const char *const analysis_answers[ANSWER_NR];
enum analysis_answer analysis_answer(const struct analysis *a, const struct analysis_job *job);

/* The rule could be judged for this job, and did not hold. */
bool analysis_passed(const struct analysis *a, const struct analysis_job *job,
		     const struct rule *rule);

#endif
