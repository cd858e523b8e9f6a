/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: the map that names the job's processes has room for few. When those that were
 * found are named and are to be taken in, that waits until the names of processes forked meanwhile
 * have filled it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ENTRIES = 1024, PATIENCE_S = 60 };

static long (*next)(long nr, ...);

/* It takes no other name. */
static int is_full(int map)
{
	uint32_t nobody = UINT32_MAX, one = 1;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&nobody,
		.value = (uintptr_t)&one,
	};

	if (next(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)))
		return 1;
	attr.value = 0;
	next(SYS_bpf, BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
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

/* As libbpf calls it: each argument is a long. */
long syscall(long nr, ...)
{
	static int seeds = -1;
	union bpf_attr *attr;
	long args[6];
	va_list rest;

	va_start(rest, nr);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(rest, long);
	va_end(rest);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	attr = (union bpf_attr *)args[1];
	if (nr == SYS_bpf && args[0] == BPF_MAP_CREATE && !strcmp(attr->map_name, "seeds"))
		attr->max_entries = ENTRIES;
	/* A process that was found gets its name. */
	if (nr == SYS_bpf && args[0] == BPF_MAP_UPDATE_ELEM && attr->flags == BPF_NOEXIST)
		seeds = (int)attr->map_fd;
	if (nr == SYS_bpf && args[0] == BPF_ITER_CREATE && seeds >= 0)
		until_full(seeds);
	return next(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}
