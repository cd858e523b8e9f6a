/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is the mean of the differences between two runs, cell by cell, more than chance? Student's t on
 * the means of long batches of cells. Owns the test: what makes neighbouring cells alike (they are
 * no independent values) widens it, and what both runs have in common (a cold beginning) does not.
 */
#ifndef COMPARE_PAIRED_H
#define COMPARE_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PAIRED_CELLS_MIN = 20,	 /* fewer do not show how alike neighbours are */
	PAIRED_ALIKE_MIN = 30,	 /* nor fewer than these, of neighbours that are very alike */
	PAIRED_BATCHES_MAX = 10, /* few and long: what is left between them is small */
};

/* Independent cells that all are worth: below the first there is no test, from the second on it is
 * made of batches (half as many again of a run in two phases). */
#define PAIRED_EFFECTIVE_MIN 3.0
#define PAIRED_BATCHES_OF    6.0
/* On the standard error: with it false alarms are as rare as the level says among the pairs that
 * are judged, not only among all; docs/advisor.md has the rates. */
#define PAIRED_ERROR_MARGIN 1.15

enum paired_why {
	PAIRED_TESTED,
	PAIRED_TOO_FEW,	     /* cells */
	PAIRED_TOO_ALIKE,    /* neighbouring cells: worth fewer than PAIRED_EFFECTIVE_MIN */
	PAIRED_OF_WORK,	     /* it goes with what the runs are cut by: one value a run */
	PAIRED_TOO_FEW_RUNS, /* of each side, for a test of so many figures */
};

struct paired {
	enum paired_why why;
	double difference; /* mean of b - a; the one figure that is there without a test too */
	double spread_a;   /* standard deviation of the cells of a */
	double spread_b;
	double effective_cells;
	size_t first_phase_cells; /* a beginning that both runs have apart; 0: none */
	size_t batches;
	double error; /* standard error of the difference */
	double degrees;
	double t;
	double p;	   /* two-sided */
	double detectable; /* a difference that 4 of 5 such pairs would show at p <= 0.05 */
};

/* a and b: nr values each, in order. */
struct paired paired_test(const double *a, const double *b, size_t nr);

/*
 * A long run and one of few intervals: too few to say how alike neighbours are, as after a change
 * that made a job ten times faster. If both were runs of one process, the error of the long one's
 * mean would be the short one's too, as far as both did as much; so the long run alone gives it, or
 * what the short one's few values say if that is more. Nothing is paired.
 */

/* One value alone says nothing of its run: with it false alarms of jobs in bursts were up to 46 %.
 */
enum { LONE_CELLS_MIN = 2 };

/* A run that did less than half of the other's work may have ended in one phase of it: with a 60th
 * part of the work false alarms of a job in epochs were up to 19 %. */
#define LONE_WORK_MAX 2.0

/* The short run's neighbours are taken for so alike that as many values are worth one, and all of
 * them for no more than so many: with 19 for 6, bursts of a quarter of a run made 11 % false
 * alarms. */
#define LONE_ALIKE 3.0
#define LONE_WORTH 3.0

/*
 * a and b: the cells of both runs, in order, each run cut by itself. work: how much more of it the
 * longer one did; the shorter one's mean is so much less sure. The longer one gives the figures
 * that one run has (effective_cells, batches). PAIRED_TOO_FEW: the longer one has fewer cells than
 * PAIRED_CELLS_MIN, the shorter fewer than LONE_CELLS_MIN, or less than half of the work.
 * PAIRED_TOO_ALIKE: also a longer one that never changes. same_shares: a share of the one's work is
 * the same share of the other's, so that a beginning that both show is taken off.
 */
struct paired paired_lone(const double *a, size_t nr_a, const double *b, size_t nr_b, double work,
			  bool same_shares);

#endif
