/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics that several models use: ranks and medians, the normal and Student's t distributions,
 * autocorrelation, and multiple tests. Callers provide the room for sorted copies. Unless noted, no
 * value may be NAN.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

/* Ranks from 1; equal values get the mean of their ranks. work: nr pointers. */
void stats_ranks(const double *x, size_t nr, const double **work, double *ret);
/* Sorts x. 0 if nr is 0. */
double stats_median(double *x, size_t nr);
/* The median, and the median absolute deviation; work: nr values. */
void stats_spread(const double *x, size_t nr, double *work, double *ret_median, double *ret_mad);

/* P(|Z| >= z) for a normal Z. */
double stats_normal_two_sided(double z);
/* The z that a normal |Z| exceeds with probability p. */
double stats_normal_z(double p);
/* P(|T| >= |t|) for Student's t, for any real degrees of freedom above 0, to about twelve
 * digits. */
double stats_student_two_sided(double t, double df);
/* The t that is exceeded with probability 1 - p; 0 < p < 1. */
double stats_student_quantile(double p, double df);

/* The logarithm of 1 + |x| / least, with the sign of x; x itself if least is 0. */
double stats_log(double x, double least);
double stats_exp(double y, double least);

/*
 * Autocorrelation of a series: values that resemble their predecessors are worth fewer independent
 * ones. r: residuals, that is values minus the fitted means. This one: the mean product of values
 * at distance lag; lag 0: the variance.
 */
double stats_lagged(const double *r, size_t nr, size_t lag);
/*
 * The lag-1 autocorrelation of a first-order process with at least the correlation of these
 * residuals; margin in standard errors; fitted: number of subtracted means.
 */
double stats_phi(const double *r, size_t nr, size_t fitted, double margin);

/*
 * Holm's step-down adjustment for multiple tests, which keeps the chance of a false alarm among all
 * of them at the level of a single test, however they depend on each other. p: probabilities; NAN:
 * not tested, and not counted. In place.
 */
void stats_holm(double *p, size_t nr);
/* The largest p that test at may have so that its adjusted p is at most level. p: all tests, before
 * the adjustment. */
double stats_holm_level(const double *p, size_t nr, size_t at, double level);

/*
 * The tail probability of the maximum of many overlapping differences: approximations for small
 * probabilities, on the safe side (test_series_stats.c). This one: some place, except in the first
 * and the last share of a series, splits it into two parts whose means differ by z standard errors
 * or more.
 */
double stats_tail_split(double z, double share);
/* This one: in a series worth that many independent values, some stretch of length between share
 * and 1 - share differs from the rest by z standard errors or more. */
double stats_tail_arc(double z, double worth, double share);

#endif
