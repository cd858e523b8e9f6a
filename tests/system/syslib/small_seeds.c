/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: the map that names the job's processes has room for few. When those that were
 * found are named and are to be taken in, that waits until the names of processes forked meanwhile
 * have filled it.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf_calls.h"

enum { ENTRIES = 1024, PATIENCE_S = 60 };

/* It takes no other name. */
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
	/* A process that was found gets its name. */
	if (command == BPF_MAP_UPDATE_ELEM && attr->flags == BPF_NOEXIST)
		seeds = (int)attr->map_fd;
	if (command == BPF_ITER_CREATE && seeds >= 0)
		until_full(seeds);
}
