/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How alike neighbours of a series are: values that go with the one before them are worth fewer
 * independent ones. Owns the estimate, of residuals: values less the means that were fitted.
 */
#ifndef COMPARE_ALIKE_H
#define COMPARE_ALIKE_H

#include <stddef.h>

/* Mean of the products of values that are lag apart; lag 0: the variance. */
double alike_lagged(const double *r, size_t nr, size_t lag);
/*
 * The lag-1 autocorrelation of a first-order process at least as alike as these residuals; margin
 * in standard errors; fitted: means that were taken out.
 */
double alike_phi(const double *r, size_t nr, size_t fitted, double margin);

#endif
