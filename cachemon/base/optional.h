/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values that may be absent, which is never 0. Owns their arithmetic: absent in, absent out, and
 * absent also where the result would not fit.
 */
#ifndef OPTIONAL_H
#define OPTIONAL_H

#include <stdbool.h>
#include <stdint.h>

struct opt_i64 {
	int64_t value;
	bool known;
};

struct opt_f64 {
	double value;
	bool known;
};

struct opt_i64 opt_add(struct opt_i64 a, struct opt_i64 b);
/* Absent also when the difference is negative: no count is. */
struct opt_i64 opt_sub(struct opt_i64 a, struct opt_i64 b);
struct opt_i64 opt_mul(struct opt_i64 a, int64_t b);
/* The nearest whole number; absent also below 0. */
struct opt_i64 opt_round(struct opt_f64 v);
/* Of numbers from a file that anybody may have made: INT64_MAX or INT64_MIN where it is beyond. */
int64_t add_saturating(int64_t a, int64_t b);

#endif
