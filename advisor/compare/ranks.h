/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests whether the values of two groups of runs differ by more than chance, by the exact
 * Mann-Whitney test (Wilcoxon's rank sum test): it counts every way to split the ranks into two
 * groups, ties included. It assumes independent runs, and nothing about the distribution of their
 * values.
 */
#ifndef COMPARE_RANKS_H
#define COMPARE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

enum { RANKS_MAX = 40 }; /* values in a group */

struct ranks {
	double u;	  /* pairs in which b is larger; ties count half */
	double p;	  /* two-sided */
	bool bounded;	  /* the interval is known */
	double low, high; /* 95 % interval of the shift from a to b */
};

/* 1 to RANKS_MAX values each. 0 or -ENOMEM. */
int ranks_test(const double *a, size_t nr_a, const double *b, size_t nr_b, struct ranks *ret);
/* The shift that 4 of 5 such pairs of groups would show at p <= level; NAN: none. 0 or -ENOMEM. */
int ranks_detectable(const double *a, size_t nr_a, const double *b, size_t nr_b, double level,
		     double *ret);

/* The smallest two-sided p that groups of these sizes can have. */
double ranks_least_p(size_t nr_a, size_t nr_b);

#endif
