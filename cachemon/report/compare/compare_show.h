/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of a comparison for people: a metric's value, its change, a probability. Owns formatting
 * only; shared by sentences and tables, so that both print the same.
 */
#ifndef COMPARE_SHOW_H
#define COMPARE_SHOW_H

#include "advisor/compare/compare.h"
#include "cachemon/figures/show.h"

/* In the metric's unit, which the caller prints: "0.312", "41,250", "97.1 %". */
struct shown compare_value(const char *unit, double v);
/* A spread of such values; for a ratio in points. */
struct shown compare_span(const char *unit, double v);
/* The change: "+41,250", "-4.10", "+3.2 points". */
struct shown compare_difference(const char *unit, double v);
/* An interval of differences: "-4.10 to +3.20", "-4.1 to +3.2 points". */
struct shown compare_range(const char *unit, double low, double high);
/* "41 % less", "2.1 times as much", "+3.2 points", "unchanged". */
struct shown compare_change(const struct compare_row *row);
/* "p = 0.003", "p < 0.0001". */
struct shown compare_p(double p);

#endif
