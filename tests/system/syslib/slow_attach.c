/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: a program that was attached to a raw tracepoint or by a link counts for
 * DELAY_NS before bpf(2) returns. On a busy machine the scheduler delays cachemon like this.
 */
#define _GNU_SOURCE
#include <time.h>

#define BPF_RETURNS
#include "bpf_calls.h"

enum { DELAY_NS = 30000000 };

static void before_bpf(long command, union bpf_attr *attr)
{
	(void)command;
	(void)attr;
}

static void bpf_returns(long command)
{
	struct timespec delay = {.tv_nsec = DELAY_NS};

	if (command == BPF_RAW_TRACEPOINT_OPEN || command == BPF_LINK_CREATE)
		nanosleep(&delay, NULL);
}
