/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/optional.h"

struct opt_i64 opt_add(struct opt_i64 a, struct opt_i64 b)
{
	struct opt_i64 ret = {0};

	if (a.known && b.known)
		ret.known = !__builtin_add_overflow(a.value, b.value, &ret.value);
	return ret;
}

struct opt_i64 opt_sub(struct opt_i64 a, struct opt_i64 b)
{
	struct opt_i64 ret = {0};

	if (a.known && b.known)
		ret.known = !__builtin_sub_overflow(a.value, b.value, &ret.value) && ret.value >= 0;
	return ret;
}

struct opt_i64 opt_mul(struct opt_i64 a, int64_t b)
{
	struct opt_i64 ret = {0};

	if (a.known)
		ret.known = !__builtin_mul_overflow(a.value, b, &ret.value);
	return ret;
}

struct opt_i64 opt_round(struct opt_f64 v)
{
	struct opt_i64 ret = {.known = v.known && v.value >= 0 && v.value < 9e18};

	ret.value = ret.known ? (int64_t)(v.value + 0.5) : 0;
	return ret;
}

int64_t add_saturating(int64_t a, int64_t b)
{
	int64_t sum = 0;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return a < 0 ? INT64_MIN : INT64_MAX;
}
