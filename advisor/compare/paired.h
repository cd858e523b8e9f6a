/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests whether the mean of the cell-by-cell differences between two runs is more than chance:
 * Student's t on the means of long batches of cells. Owns the test. Autocorrelation of neighbouring
 * cells widens it, and what both runs have in common (a cold beginning) does not.
 */
#ifndef COMPARE_PAIRED_H
#define COMPARE_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PAIRED_CELLS_MIN = 20,	 /* with fewer cells, autocorrelation cannot be estimated */
	PAIRED_ALIKE_MIN = 30,	 /* the same for cells with strong autocorrelation */
	PAIRED_BATCHES_MAX = 10, /* few and long, so that little correlation remains between them */
};

/* Effective number of independent cells. Below the first limit there is no test; from the second
 * one upwards the test uses batches (half as many again if a run has two phases). */
#define PAIRED_EFFECTIVE_MIN 3.0
#define PAIRED_BATCHES_OF    6.0
/* A factor on the standard error. It keeps false alarms at the nominal level among the pairs
 * that are judged, not only among all pairs; docs/advisor.md has the rates. */
#define PAIRED_ERROR_MARGIN 1.15

enum paired_why {
	PAIRED_TESTED,
	PAIRED_TOO_FEW,	     /* cells */
	PAIRED_LITTLE_WORK,  /* the shorter run did less than half of the other's work */
	PAIRED_TOO_ALIKE,    /* autocorrelated: worth fewer than PAIRED_EFFECTIVE_MIN cells, and
			      * not apart */
	PAIRED_OF_WORK,	     /* proportional to the unit of work: one value per run */
	PAIRED_TOO_FEW_RUNS, /* too few runs per side for so many figures */
};

/*
 * Runs whose cells are too autocorrelated for an estimate of the error can still be so far apart
 * that no plausible noise explains it: several times as fast, not a few per cent. Times and counts
 * vary in proportion to their size, so the logarithms are compared, as if the longer run had one
 * value per APART_ALIKE cells and at most PAIRED_EFFECTIVE_MIN values. The limits and the degrees
 * of freedom keep false alarms below the nominal level up to an autocorrelation of 0.95
 * (test_compare_alarms.c).
 */
enum {
	APART_CELLS_MIN = 40,
	APART_ALIKE = 20,
	APART_FEW_MIN = 5,
};

/* A run of fewer than APART_FEW_MIN cells is assumed to vary that much more than the longer one. */
#define APART_FEW_SPREAD 1.5

#define APART_DEGREES 4.0

struct paired {
	enum paired_why why;
	double difference; /* mean of b - a; known without a test too */
	double spread_a;   /* standard deviation of the cells of a */
	double spread_b;
	double effective_cells;
	size_t first_phase_cells; /* first cell after a beginning that both runs have; 0: none */
	size_t batches;
	double error; /* standard error of the difference */
	double degrees;
	double t;
	double p;	   /* two-sided */
	double log_change; /* mean of the logarithms of b - that of a, if these were tested */
	double log_error;  /* its standard error; 0: not tested */
	double detectable; /* set by compare: the difference that 4 of 5 such pairs would show */
};

/* a and b: nr values each, in order. */
struct paired paired_test(const double *a, const double *b, size_t nr);
/* The difference that 4 of 5 such pairs would show at p <= level. before: the mean of a. */
double paired_detectable(const struct paired *t, double before, double level);
/* The interval of the difference at confidence 1 - level. before: the mean of a. false: unbounded.
 */
bool paired_interval(const struct paired *t, double before, double level, double *ret_low,
		     double *ret_high);

/*
 * A long run and a run of few intervals, such as after a change that made a job ten times faster.
 * The short run has too few intervals to estimate its autocorrelation. If both runs come from one
 * process, the error of the long run's mean, scaled by work, is the short run's too. So the error
 * comes from the long run alone, or from the values of the short run if theirs is larger. Nothing
 * is paired.
 */

/* One value shows nothing about its run: it caused up to 46 % false alarms for jobs with bursts. */
enum { LONE_CELLS_MIN = 2 };

/* A run that did less than half of the other's work may have ended within a phase: with a 60th
 * of the work, false alarms reached 19 % for a job with epochs. */
#define LONE_WORK_MAX 2.0

/* The short run is assumed to be strongly autocorrelated: this many of its values count as one,
 * and all of them count as this many at most. With 19 and 6, bursts of a quarter of a run caused
 * 11 % false alarms. */
#define LONE_ALIKE 3.0
#define LONE_WORTH 3.0

/*
 * a and b: the cells of both runs, in order; each run is cut separately. work: how much more work
 * the longer run did, which makes the mean of the shorter run less certain. The longer run provides
 * the figures of a single run (effective_cells, batches). PAIRED_TOO_FEW: the longer run has fewer
 * cells than PAIRED_CELLS_MIN, or the shorter run fewer than LONE_CELLS_MIN or less than half of
 * the work. PAIRED_TOO_ALIKE: also a longer run that never changes. same_shares: equal shares of
 * the work are the same part of the job, so that a common beginning is removed.
 */
struct paired paired_lone(const double *a, size_t nr_a, const double *b, size_t nr_b, double work,
			  bool same_shares);

#endif
