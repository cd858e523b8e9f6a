/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file without a name whose every page is in the cache and stays there: locked in memory, and
 * looked at again on request. Owns its descriptor and mapping.
 */
#ifndef BENCH_HOTFILE_H
#define BENCH_HOTFILE_H

#include <stddef.h>
#include <stdint.h>

#define HOTFILE_SEED 88172645463325252ull

struct hotfile {
	int fd;
	uint64_t bytes;
	void *map;
	uint64_t seed; /* set again: the same pages again */
};

/* In dir; exits where it cannot be made or locked. */
void hotfile_make(const char *dir, uint64_t bytes, struct hotfile *ret);
/* One that is there, whole in the cache, and not locked. */
void hotfile_open(const char *path, struct hotfile *ret);
/* Pages of it that are not in the cache. */
uint64_t hotfile_missing(const struct hotfile *f);
/* n preads of 4 KiB at random pages; 0 or -errno. */
int hotfile_read(struct hotfile *f, long n);
void hotfile_free(struct hotfile *f);

#endif
