/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that makes the mistake that a tracer waits for: it has file capabilities, drops them
 * first and forbids tracing only afterwards. Usage: late MICROSECONDS, the time between the two. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void pause_us(long us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	pause_us(100000);
	if (syscall(SYS_capset, &header, none))
		return 1;
	pause_us(argc > 1 ? atol(argv[1]) : 0);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return 1;
	pause_us(100000);
	return 0;
}
