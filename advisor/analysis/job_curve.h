/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of one job of a database, judged, or why it is absent. Owns the way from
 * recorded references to the models of curve/, and the SQL for the other counts; data that a
 * database of an earlier schema does not have is absent.
 */
#ifndef JOB_CURVE_H
#define JOB_CURVE_H

#include <sqlite3.h>

#include "advisor/curve/curve_judge.h"
#include "cachemon/base/errtext.h"

struct curve_facts {
	struct curve_counted counted;
	double page_size_bytes;
	double memory_pages; /* of the machine; < 0: not known */
	double limit_pages;  /* of the job's memory cgroup; < 0: none, or not known */
	bool cold, sliced;   /* how it was recorded */
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

/* 0, also when there is no curve; job_curve_free() then. -errno: the database cannot be read. */
int job_curve_load(sqlite3 *db, int64_t job_id, struct job_curve *ret, struct errtext *err);
void job_curve_free(struct job_curve *c);

#endif
