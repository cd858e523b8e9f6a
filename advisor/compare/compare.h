/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares runs of the same job before and after a change: what differs, by how much, and whether
 * chance explains it. Pure: intervals in, judgements out. Owns the list of metrics, the choice of
 * the unit of work, and the verdict.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advisor/compare/paired.h"
#include "cachemon/figures/counters.h"

#define METRIC_GIB 1073741824.0

/* Values of an interval besides its counters. */
enum compare_extra {
	X_DURATION_NS = C_NR,
	X_CPU_NS,
	X_WORK, /* bytes, major faults or ns */
	X_NR,
};

/* The unit of work. Runs are cut by it, and figures except PER_JOB are divided by it. */
enum compare_work {
	WORK_READ,   /* bytes returned by reads of files */
	WORK_RCHAR,  /* bytes its tasks read from anything */
	WORK_FAULTS, /* major faults: progress of a job that is compared as a whole */
	WORK_TIME,
	WORK_NR,
};

enum compare_better { BETTER_NEITHER, BETTER_LOWER, BETTER_HIGHER };

enum { METRIC_TERMS_MAX = 7 };

/* A sum of counters; MINUS(counter) is subtracted. */
struct compare_sum {
	size_t nr;
	int term[METRIC_TERMS_MAX];
};

#define COMPARE_SUM(...)                                                                           \
	{                                                                                          \
		.nr = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .term = { __VA_ARGS__ }          \
	}

/* A quotient of two sums over the intervals of a run. */
struct compare_metric {
	const char *key;       /* for programs */
	const char *label;     /* for people */
	const char *unit;      /* by work in bytes: "... per GiB read" */
	const char *time_unit; /* unit by work in time; NULL: no such metric */
	const char *job_unit;  /* unit for the whole job */
	struct compare_sum num;
	struct compare_sum den;
	bool share;    /* a share: absent if it is outside 0..1 */
	bool of_fates; /* absent if too many pages are unknown */
	double scale;  /* from num / den to the unit, when work is bytes */
	double time_scale;
	double job_scale;
	enum compare_better better;
	int rank;		/* 0: the goal (time, stall); 1: a cause */
	double relevant_share;	/* share of run A's value; smaller differences do not matter */
	double relevant_least;	/* in the unit */
	double relevant_of_gib; /* the same as a share of the pages in a GiB, or 0 */
};

/* NULL after the last metric. */
const struct compare_metric *compare_metric(size_t index);

/* Sums of the whole run that are shown as they are. */
struct compare_total {
	const char *key;
	const char *label;
	const char *unit; /* "ns", "bytes", "pages", "" */
	struct compare_sum sum;
};

const struct compare_total *compare_total(size_t index);

/* A difference with a smaller adjusted p is significant. */
#define COMPARE_LEVEL 0.05

/* A job's values of one interval; compare_runs() fills in X_WORK. */
struct compare_interval {
	int64_t duration_ns;
	int64_t read_on_ns; /* less than duration_ns: figures of the per-read hook are partial */
	int64_t rchar_bytes;
	bool rchar_known;
	int64_t value[X_NR];
	bool known[X_NR];
};

/* The unit by which figures are divided. */
enum compare_per {
	PER_WORK, /* the common work, if one run did more */
	PER_JOB,  /* nothing: both runs completed the same job */
};

struct compare_run {
	const struct compare_interval *intervals;
	size_t nr;
	double page_bytes; /* page size of the run's machine; 0: unknown */
};

enum compare_outcome {
	OUTCOME_UNKNOWN,  /* not measured in one of the runs */
	OUTCOME_UNTESTED, /* paired.why, or the metric has no better side */
	OUTCOME_NOISE,	  /* chance explains it */
	OUTCOME_SMALL,	  /* significant, but too small to matter */
	OUTCOME_BETTER,
	OUTCOME_WORSE,
	OUTCOME_NR,
};

struct compare_row {
	const struct compare_metric *metric;
	enum compare_outcome outcome;
	double a, b;	    /* in the metric's unit */
	struct paired test; /* in the metric's unit */
	double p_adjusted;  /* NAN: not tested */
	double relevant;    /* the smallest difference that matters */
	bool partial;	    /* unknown: the per-read hook was off part of the time */
	/* With several runs per side: */
	double u;	      /* Mann-Whitney's */
	const double *values; /* one value per run: runs_a before, then runs_b after */
	bool bounded;	      /* low and high are known */
	double low, high;     /* 95 % interval of the difference */
};

enum compare_verdict {
	VERDICT_UNTESTED, /* time and stall could not be tested, and no other metric differs */
	VERDICT_SAME,
	VERDICT_IMPROVED,
	VERDICT_WORSE,
	VERDICT_MIXED,
	VERDICT_NR,
};

enum compare_test {
	TEST_PAIRED, /* paired_test() */
	TEST_LONE,   /* one run is short: paired_lone() */
	TEST_RANKS,  /* several runs per side: ranks_test() */
	TEST_NR,
};

struct compare_result {
	enum compare_per per;
	enum compare_work work;
	double work_a, work_b; /* bytes; major faults for WORK_FAULTS, ns for WORK_TIME */
	size_t intervals_a, intervals_b;
	double longest_s, shortest_s; /* intervals of all runs */
	size_t cells; /* number for each run; if one run is short, of the longer one */
	enum compare_test test;
	size_t runs_a, runs_b; /* 1 each unless test is TEST_RANKS */
	size_t nr_tested;
	enum compare_verdict verdict;
	int rank; /* the metrics that decided the verdict */
	size_t nr_rows;
	struct compare_row *rows; /* in the order of compare_metric() */
	double *values;		  /* used by the rows */
};

/* 0 or -ENOMEM. Call compare_free() in any case. */
int compare_runs(const struct compare_run *a, const struct compare_run *b, enum compare_per per,
		 struct compare_result *ret);
/* Several runs per side, with one value of each figure per run; a and b are the medians. 1 to
 * RANKS_MAX runs per side. 0 or -ENOMEM. */
int compare_groups(const struct compare_run *a, size_t nr_a, const struct compare_run *b,
		   size_t nr_b, enum compare_per per, struct compare_result *ret);
void compare_free(struct compare_result *result);

/* A sum over all intervals; false: unknown in one of them. */
bool compare_sum(const struct compare_run *run, const struct compare_sum *sum, double *ret);
/* Names for JSON. */
const char *compare_outcome_name(enum compare_outcome o);
const char *compare_verdict_name(enum compare_verdict v);
const char *compare_work_name(enum compare_work w);
const char *compare_unit(const struct compare_result *r, const struct compare_metric *m);

#endif
