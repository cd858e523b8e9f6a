/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An unlinked file whose pages are all cached and locked in memory; checked again on request. It
 * owns its descriptor and mapping.
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
	uint64_t seed; /* setting it again repeats the same pages */
};

/* Makes one in dir; exits if it cannot be made or locked. */
void hotfile_make(const char *dir, uint64_t bytes, struct hotfile *ret);
/* An existing file, fully cached, and not locked. */
void hotfile_open(const char *path, struct hotfile *ret);
/* The number of its pages that are not cached. */
uint64_t hotfile_missing(const struct hotfile *f);
/* n preads of 4 KiB at random pages; 0 or -errno. */
int hotfile_read(struct hotfile *f, long n);
void hotfile_free(struct hotfile *f);

#endif
