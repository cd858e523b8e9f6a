/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often chance alone makes the largest of many differences that overlap. Owns the formulas:
 * approximations for small probabilities, on the safe side (test_series_stats.c).
 */
#ifndef SERIES_TAIL_H
#define SERIES_TAIL_H

/* That of all places but the first and the last share of a series, one splits it into two whose
 * means differ by z standard errors or more. */
double tail_split(double z, double share);
/* That of all stretches between share and 1 - share of a series that is worth so many values, one
 * differs from the rest by z standard errors or more. */
double tail_arc(double z, double worth, double share);

#endif
