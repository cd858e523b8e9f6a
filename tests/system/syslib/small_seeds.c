/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: the map with the job's processes gets little room. Adding the processes that were
 * found then waits until processes forked meanwhile have filled the map.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf_calls.h"

enum { ENTRIES = 1024, PATIENCE_S = 60 };

/* No further entry fits. */
static int is_full(int map)
{
	uint32_t nobody = UINT32_MAX, one = 1;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&nobody,
		.value = (uintptr_t)&one,
	};

	if (next_syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)))
		return 1;
	attr.value = 0;
	next_syscall(SYS_bpf, BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
	return 0;
}

static void until_full(int map)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	time_t begin = time(NULL);

	while (!is_full(map)) {
		nanosleep(&pause, NULL);
		if (time(NULL) - begin > PATIENCE_S) {
			fprintf(stderr, "small_seeds: there is room still\n");
			abort();
		}
	}
}

static void before_bpf(long command, union bpf_attr *attr)
{
	static int seeds = -1;

	if (command == BPF_MAP_CREATE && !strcmp(attr->map_name, "seeds"))
		attr->max_entries = ENTRIES;
	/* An entry is added for a process that was found. */
	if (command == BPF_MAP_UPDATE_ELEM && attr->flags == BPF_NOEXIST)
		seeds = (int)attr->map_fd;
	if (command == BPF_ITER_CREATE && seeds >= 0)
		until_full(seeds);
}
