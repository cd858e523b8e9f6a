/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cached pages of the self test's file, from cachestat(2), or before 6.5 from mincore(2). The
 * latter sees a page only after its read has ended, so the test waits for requested pages. Owns
 * these checks and what they prove about disturbance by other processes.
 */
#ifndef SELFTEST_LOOK_H
#define SELFTEST_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* include/uapi/linux/mman.h, kernel 6.5 */
struct cachestat_range {
	uint64_t off, len;
};
struct cachestat {
	uint64_t nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
};

struct selftest_look {
	int fd;
	int64_t bytes, nr_pages;
	struct cachestat last; /* of the whole file; mincore(2) only fills nr_cache */
	/* Sectors that the process had requested from disks: before the last call, and for
	 * mincore(2) at the start. */
	int64_t asked_first;
	/* mincore(2): an untouched mapping, each page's presence before and now, and at the
	 * start */
	unsigned char *map, *was, *is;
	int64_t there_first;
};

bool selftest_by_mincore(void);

/* Call them in the watched process. Each returns 0 or -errno; disturbed is set if other
 * processes moved pages, and otherwise unchanged. */
int look_open(struct selftest_look *l, int fd, int64_t bytes);
void look_close(struct selftest_look *l);
/* The first check of a case: the present pages. */
int look_begin(struct selftest_look *l, int64_t *ret_pages);
/* Between the test's calls: whether the state is unchanged. */
int look_before(struct selftest_look *l, bool *disturbed);
/* Present pages of the range, right after look_before(). */
int look_range(struct selftest_look *l, int64_t first, int64_t nr, int64_t *ret_pages);
/* After a call: what it added. */
int look_after(struct selftest_look *l, int64_t *added, bool *disturbed);

#endif
