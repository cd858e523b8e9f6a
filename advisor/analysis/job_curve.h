/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of one job, with its verdict, or the reason why it is absent. Owns the step
 * from recorded references to the models of curve/, and the SQL of the other counts. Data that an
 * older schema lacks is absent.
 */
#ifndef JOB_CURVE_H
#define JOB_CURVE_H

#include <sqlite3.h>

#include "advisor/curve/curve_judge.h"
#include "cachemon/base/errtext.h"

struct curve_facts {
	struct curve_counted counted;
	double page_size_bytes;
	double memory_pages;	 /* memory of the machine; < 0: unknown */
	double limit_pages;	 /* limit of the job's memory cgroup; < 0: none or unknown */
	bool cold, full, sliced; /* how it was recorded */
};

struct job_curve {
	bool there;
	char absent[896];     /* why it is absent: a sentence */
	bool broken;	      /* the sample ends before the run does */
	char why_broken[256]; /* a sentence */
	double sampled_lookups;
	struct curve curve;
	struct curve_facts facts;
	struct curve_verdict verdict;
};

/* 0, also without a curve; then call job_curve_free(). -errno: the database cannot be read. */
int job_curve_load(sqlite3 *db, int64_t job_id, struct job_curve *ret, struct errtext *err);
void job_curve_free(struct job_curve *c);

#endif
