/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs of the same job, before and after a change: what differs, by how much, and whether that
 * is more than chance. Pure: intervals in, judgements out. Owns the list of what is compared, the
 * choice of the work by which figures are divided, and the verdict.
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

/* A quotient of two sums over the intervals of a run. */
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

/* NULL after the last one. */
const struct compare_metric *compare_metric(size_t index);

/* Sums that are shown as they are, of the whole run. */
struct compare_total {
	const char *key;
	const char *label;
	const char *unit; /* "ns", "bytes", "pages", "" */
	struct compare_sum sum;
};

const struct compare_total *compare_total(size_t index);

/* Below it a difference is no chance. Of adjusted p. */
#define COMPARE_LEVEL 0.05

/* What a job did in one interval; X_WORK is filled in by compare_runs(). */
struct compare_interval {
	int64_t duration_ns;
	int64_t read_on_ns; /* less than duration_ns: figures of the per-read hook are partial */
	int64_t rchar_bytes;
	bool rchar_known;
	int64_t value[X_NR];
	bool known[X_NR];
};

/* What figures are divided by. */
enum compare_per {
	PER_WORK, /* what both did, if one did more of it */
	PER_JOB,  /* nothing: both did the same job to its end, whatever they read for it */
};

struct compare_run {
	const struct compare_interval *intervals;
	size_t nr;
	double page_bytes; /* of its machine; 0: not known */
};

enum compare_outcome {
	OUTCOME_UNKNOWN,  /* not measured in one of the runs */
	OUTCOME_UNTESTED, /* paired.why, or a metric without a better side */
	OUTCOME_NOISE,	  /* what chance explains */
	OUTCOME_SMALL,	  /* real, and too small to matter */
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
	double relevant;    /* the least difference that matters */
	bool partial;	    /* unknown because the per-read hook was off part of the time */
	/* Of several runs a side: */
	double u;	      /* Mann-Whitney's */
	const double *values; /* one a run, runs_a before, then runs_b after */
	bool bounded;	      /* low and high are known */
	double low, high;     /* 95 % interval of the difference */
};

enum compare_verdict {
	VERDICT_UNTESTED, /* neither time nor stall could be, and nothing else differs */
	VERDICT_SAME,
	VERDICT_IMPROVED,
	VERDICT_WORSE,
	VERDICT_MIXED,
	VERDICT_NR,
};

enum compare_test {
	TEST_PAIRED, /* paired_test() */
	TEST_LONE,   /* one run is short: paired_lone() */
	TEST_RANKS,  /* several runs a side: ranks_test() */
	TEST_NR,
};

struct compare_result {
	enum compare_per per;
	enum compare_work work;
	double work_a, work_b; /* bytes; major faults for WORK_FAULTS, ns for WORK_TIME */
	size_t intervals_a, intervals_b;
	double longest_s, shortest_s; /* of all runs */
	size_t cells;		      /* of both runs; of the longer one where one is short */
	enum compare_test test;
	size_t runs_a, runs_b; /* 1 each unless test is TEST_RANKS */
	size_t nr_tested;
	enum compare_verdict verdict;
	int rank; /* of the metrics that made the verdict */
	size_t nr_rows;
	struct compare_row *rows; /* in the order of compare_metric() */
	double *values;		  /* that the rows point to */
};

/* 0 or -ENOMEM. compare_free() in any case. */
int compare_runs(const struct compare_run *a, const struct compare_run *b, enum compare_per per,
		 struct compare_result *ret);
/* Several runs a side, one value of each figure a run: a and b are the medians of a side. 1 to
 * RANKS_MAX runs each; 0 or -ENOMEM. */
int compare_groups(const struct compare_run *a, size_t nr_a, const struct compare_run *b,
		   size_t nr_b, enum compare_per per, struct compare_result *ret);
void compare_free(struct compare_result *result);

/* A sum over all intervals; false: not known in one of them. */
bool compare_sum(const struct compare_run *run, const struct compare_sum *sum, double *ret);
/* Words for programs. */
const char *compare_outcome_name(enum compare_outcome o);
const char *compare_verdict_name(enum compare_verdict v);
const char *compare_work_name(enum compare_work w);
const char *compare_unit(const struct compare_result *r, const struct compare_metric *m);

#endif
