/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Student's t distribution. Owns its probabilities and quantiles, for any real degrees of freedom
 * above 0, to about twelve digits.
 */
#ifndef COMPARE_STUDENT_H
#define COMPARE_STUDENT_H

/* P(|T| >= |t|). */
double student_two_sided(double t, double df);
/* The t that is exceeded with probability 1 - p; 0 < p < 1. */
double student_quantile(double p, double df);

#endif
