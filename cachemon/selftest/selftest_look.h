/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cached pages of the self test's file, as the kernel reports them: by cachestat(2), or before
 * 6.5 by mincore(2). The latter sees a page when its read has ended, so requested pages are waited
 * for. Owns these checks and what they prove about disturbance by others.
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
	struct cachestat last; /* of the whole file; by mincore(2) nr_cache alone */
	/* Sectors that the process had asked any disk for: before the last call, and by mincore(2)
	 * at the begin. */
	int64_t asked_first;
	/* mincore(2): a mapping that nobody touches, each page's presence as it was and is, and
	 * what was there at the begin */
	unsigned char *map, *was, *is;
	int64_t there_first;
};

bool selftest_by_mincore(void);

/* In the watched process. Each of those below is 0 or -errno; disturbed is set when others moved
 * pages, and else left alone. */
int look_open(struct selftest_look *l, int fd, int64_t bytes);
void look_close(struct selftest_look *l);
/* The first look of a case; what is there. */
int look_begin(struct selftest_look *l, int64_t *ret_pages);
/* Between the test's own calls: as the last look left it? */
int look_before(struct selftest_look *l, bool *disturbed);
/* Pages of the range there, right after look_before(). */
int look_range(struct selftest_look *l, int64_t first, int64_t nr, int64_t *ret_pages);
/* After a call: what it added. */
int look_after(struct selftest_look *l, int64_t *added, bool *disturbed);

#endif
