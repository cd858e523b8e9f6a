/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What two runs are compared by: each metric a quotient of two sums over the intervals of a run.
 * Owns the list: names, units, which direction is better and from when on a difference matters.
 */
#ifndef COMPARE_METRIC_H
#define COMPARE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/figures/counters.h"

#define METRIC_GIB 1073741824.0

/* What an interval has beside its counters. */
enum compare_extra {
	X_DURATION_NS = C_NR,
	X_CPU_NS,
	X_WORK, /* bytes, major faults or ns */
	X_NR,
};

/* The work that runs are cut by, and their figures divided by but for PER_JOB. */
enum compare_work {
	WORK_READ,   /* bytes returned by reads of files */
	WORK_RCHAR,  /* bytes its tasks read from anything */
	WORK_FAULTS, /* major faults: of a job that is taken whole, how far it is */
	WORK_TIME,
	WORK_NR,
};

enum compare_better { BETTER_NEITHER, BETTER_LOWER, BETTER_HIGHER };

enum { METRIC_TERMS_MAX = 7 };

/* A sum of counters; MINUS(counter) is taken off. */
struct compare_sum {
	size_t nr;
	int term[METRIC_TERMS_MAX];
};

#define COMPARE_SUM(...)                                                                           \
	{                                                                                          \
		.nr = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .term = { __VA_ARGS__ }          \
	}

struct compare_metric {
	const char *key;       /* for programs */
	const char *label;     /* for people */
	const char *unit;      /* by work in bytes: "... per GiB read" */
	const char *time_unit; /* by work in time; NULL: no such metric */
	const char *job_unit;  /* of the whole job */
	struct compare_sum num;
	struct compare_sum den;
	bool share;    /* of a whole: absent where it is not within 0..1 */
	bool of_fates; /* absent where too many are not known */
	double scale;  /* from num / den to the unit, by bytes */
	double time_scale;
	double job_scale;
	enum compare_better better;
	int rank;		/* 0: what it is all for; 1: what it comes from */
	double relevant_share;	/* of run A's value: differences below do not matter */
	double relevant_least;	/* in the unit */
	double relevant_of_gib; /* the same as a share of the pages of a GiB, or 0 */
};

/* NULL behind the last one. */
const struct compare_metric *compare_metric(size_t index);

/* Sums that are shown as they are, of the whole run. */
struct compare_total {
	const char *key;
	const char *label;
	const char *unit; /* "ns", "bytes", "pages", "" */
	struct compare_sum sum;
};

const struct compare_total *compare_total(size_t index);

#endif
