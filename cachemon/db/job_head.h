/* SPDX-License-Identifier: BSD-2-Clause */
/* The first statements of a job's report, which are stored with the job at the end of a run, so
 * that a list of runs need not analyse each run. */
#ifndef JOB_HEAD_H
#define JOB_HEAD_H

#include "cachemon/base/optional.h"

struct job_head {
	int64_t job_id;
	const char *answer;	     /* one of analysis_answers */
	const char *grade;	     /* overall; NULL: none */
	struct opt_f64 score;	     /* value of the grade */
	const char *finding, *title; /* id and title of the first finding; NULL: none */
};

#endif
