/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of one job of a database, judged: or why there is none. Owns the way from
 * recorded references to the models of curve/.
 */
#ifndef JOB_CURVE_H
#define JOB_CURVE_H

#include "advisor/analysis/load_curve.h"

struct job_curve {
	bool there;
	char absent[896];     /* why there is none: a sentence */
	bool broken;	      /* the sample ends before the run does */
	char why_broken[256]; /* a sentence */
	double sampled_lookups, job_lookups;
	struct curve curve;
	struct curve_facts facts;
	struct curve_verdict verdict;
};

/* 0, also when there is no curve; job_curve_free() then. -errno: the database cannot be read. */
int job_curve_load(sqlite3 *db, int64_t job_id, struct job_curve *ret, struct errtext *err);
void job_curve_free(struct job_curve *c);

#endif
