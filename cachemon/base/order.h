/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparison of plain numbers, for qsort() and bsearch(); also for structs that begin with one. */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>

#define ORDER_OF(name, type)                                                                       \
	static inline int name(const void *a, const void *b)                                       \
	{                                                                                          \
		type x = *(const type *)a;                                                         \
		type y = *(const type *)b;                                                         \
                                                                                                   \
		return (x > y) - (x < y);                                                          \
	}

ORDER_OF(order_u32, uint32_t)
ORDER_OF(order_u64, uint64_t)
ORDER_OF(order_i64, int64_t)
ORDER_OF(order_f64, double)

#undef ORDER_OF

#endif
