/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics by order: ranks, medians, and how far chance goes. Owns no data; what needs room for
 * a sorted copy is given it. No value may be NAN.
 */
#ifndef SERIES_STATS_H
#define SERIES_STATS_H

#include <stddef.h>

/* Ranks from 1, those of equal values their mean. work: nr pointers. */
void stats_ranks(const double *x, size_t nr, const double **work, double *ret);
/* x is put in another order. 0 of none. */
double stats_median(double *x, size_t nr);
/* Median, and the median of the distances from it; work: nr values. */
void stats_spread(const double *x, size_t nr, double *work, double *ret_median, double *ret_mad);
/* P(|Z| >= z) of a normal one. */
double stats_normal_two_sided(double z);
/* The z of a normal one that is exceeded on one side or the other with probability p. */
double stats_normal_z(double p);

/* The logarithm of 1 + x / least, of either sign: even where x is small beside least; x itself
 * where least is 0. */
double stats_log(double x, double least);
double stats_exp(double y, double least);

#endif
