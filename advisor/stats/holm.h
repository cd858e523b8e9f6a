/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many tests at once: Holm's step-down adjustment, which keeps the chance of one false alarm among
 * all of them at the level of a single one, however they depend on each other.
 */
#ifndef COMPARE_HOLM_H
#define COMPARE_HOLM_H

#include <stddef.h>

/* p: probabilities; NAN: not tested, stays NAN and is counted as no test. In place. */
void holm_adjust(double *p, size_t nr);

#endif
