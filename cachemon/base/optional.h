/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values that may be absent, which is not the same as 0. Owns their arithmetic: an absent operand,
 * or an overflow, gives an absent result.
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
/* Absent too if the difference is negative, because a count cannot be negative. */
struct opt_i64 opt_sub(struct opt_i64 a, struct opt_i64 b);
struct opt_i64 opt_mul(struct opt_i64 a, int64_t b);
/* The nearest whole number; absent if negative. */
struct opt_i64 opt_round(struct opt_f64 v);
/* For untrusted numbers from a file: saturates at INT64_MAX or INT64_MIN. */
int64_t add_saturating(int64_t a, int64_t b);

#endif
