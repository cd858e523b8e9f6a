/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics that several models use: of order (ranks, medians), of a normal value and of
 * Student's t, how alike neighbours are, and many tests at once. Owns no data; what needs room for
 * a sorted copy is given it. No value may be NAN where that is not said.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

/* Ranks from 1, those of equal values their mean. work: nr pointers. */
void stats_ranks(const double *x, size_t nr, const double **work, double *ret);
/* x is put in order. 0 of none. */
double stats_median(double *x, size_t nr);
/* Median, and the median of the distances from it; work: nr values. */
void stats_spread(const double *x, size_t nr, double *work, double *ret_median, double *ret_mad);

/* P(|Z| >= z) of a normal one. */
double stats_normal_two_sided(double z);
/* The z of a normal one that is exceeded on one side or the other with probability p. */
double stats_normal_z(double p);
/* P(|T| >= |t|) of Student's t, for any real degrees of freedom above 0, to about twelve digits. */
double stats_student_two_sided(double t, double df);
/* The t that is exceeded with probability 1 - p; 0 < p < 1. */
double stats_student_quantile(double p, double df);

/* The logarithm of 1 + x / least, of either sign: even where x is small against least; x itself
 * where least is 0. */
double stats_log(double x, double least);
double stats_exp(double y, double least);

/*
 * How alike neighbours of a series are: values that go with the one before them are worth fewer
 * independent ones. r: residuals, that is values less the means that were fitted. First the mean of
 * the products of values that are lag apart; lag 0: the variance.
 */
double stats_lagged(const double *r, size_t nr, size_t lag);
/*
 * The lag-1 autocorrelation of a first-order process at least as alike as these residuals; margin
 * in standard errors; fitted: means that were taken out.
 */
double stats_phi(const double *r, size_t nr, size_t fitted, double margin);

/*
 * Holm's step-down adjustment of many tests, which keeps the chance of one false alarm among all of
 * them at the level of a single one, however they depend on each other. p: probabilities; NAN: not
 * tested, stays NAN and is counted as no test. In place.
 */
void stats_holm(double *p, size_t nr);
/* The largest p of this test that its adjustment among the others leaves at most at level. p:
 * before the adjustment. */
double stats_holm_level(const double *p, size_t nr, size_t at, double level);

/*
 * How often chance alone makes the largest of many differences that overlap: approximations for
 * small probabilities, on the safe side (test_series_stats.c). That of all places but the first and
 * the last share of a series, one splits it into two whose means differ by z standard errors or
 * more.
 */
double stats_tail_split(double z, double share);
/* That of all stretches between share and 1 - share of a series that is worth so many values, one
 * differs from the rest by z standard errors or more. */
double stats_tail_arc(double z, double worth, double share);

#endif
