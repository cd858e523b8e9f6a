/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: the time of day jumps by CLOCK_JUMP_S seconds once the file CLOCK_JUMP_FILE
 * exists, for this program alone; the monotonic clock continues. The machine's own clock is not
 * changed, because others use it.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump_s(void)
{
	const char *file = getenv("CLOCK_JUMP_FILE"), *seconds = getenv("CLOCK_JUMP_S");

	return file && seconds && access(file, F_OK) == 0 ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, clock, t);

	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += jump_s();
	return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;
	int r = clock_gettime(CLOCK_REALTIME, &t);

	(void)zone;
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return r;
}

time_t time(time_t *ret)
{
	struct timespec t;

	if (clock_gettime(CLOCK_REALTIME, &t))
		return -1;
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}
