/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks of the kernel, in nanoseconds; clock_now_ns() is the one for intervals and costs. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t which)
{
	struct timespec t = {0};

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Cannot be set. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* CPU time of this process. */
static inline uint64_t clock_own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

#endif
