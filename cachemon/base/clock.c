/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/clock.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
