/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is the mean of the differences between two runs, cell by cell, more than chance? Student's t on
 * the means of long batches of cells. Owns the test: what makes neighbouring cells alike (they are
 * no independent values) widens it, and what both runs have in common (a cold beginning) does not.
 */
#ifndef COMPARE_PAIRED_H
#define COMPARE_PAIRED_H

#include <stddef.h>

enum {
	PAIRED_CELLS_MIN = 20,	 /* fewer tell nothing of how alike neighbours are */
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
	PAIRED_TOO_FEW,	  /* cells */
	PAIRED_TOO_ALIKE, /* neighbouring cells: worth fewer than PAIRED_EFFECTIVE_MIN */
	PAIRED_OF_WORK,	  /* it goes with what the runs are cut by: one value a run */
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

/* t, p and detectable from difference, error and degrees. */
void paired_conclude(struct paired *t);
/* a and b: nr values each, in order. */
struct paired paired_test(const double *a, const double *b, size_t nr);
/* The error of the mean of one run, its degrees and effective_cells. other: the other run's values
 * at the same shares of the work, to tell a beginning of the job from a burst; NULL: not known, and
 * no phase is taken off. What never changes is PAIRED_TOO_ALIKE. */
struct paired paired_alone(const double *x, size_t nr, const double *other);

#endif
