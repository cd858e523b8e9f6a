// SPDX-License-Identifier: BSD-2-Clause
/* Whether each page is present, by bisection with cachestat(2). Pages in flight are present. */
#include <err.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bitmap.h"
#include "oracle.h"

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

/* Linux 6.18 occasionally overlooks a part of a large folio for one call while reclaim splits or
 * isolates it: a page is gone only after this many successive answers. */
#define SEEN_GONE 3
#define ROUNDS	  64

struct cachestat_range_arg {
	uint64_t off, len;
};

struct cachestat_result {
	uint64_t nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
};

static long ask(int fd, struct cachestat_range_arg *range, struct cachestat_result *result)
{
	return syscall(__NR_cachestat, fd, range, result, 0);
}

bool cachestat_exists(void)
{
	struct cachestat_range_arg range = {0};
	struct cachestat_result result;

	return !ask(-1, &range, &result) || errno != ENOSYS;
}

uint64_t cachestat_count(int fd, uint64_t first, uint64_t nr)
{
	struct cachestat_range_arg range = {first * PAGE_BYTES, nr * PAGE_BYTES};
	struct cachestat_result result;

	if (ask(fd, &range, &result))
		err(1, "cachestat");
	return result.nr_cache;
}

static bool is_gone(int fd, uint64_t first, uint64_t nr)
{
	for (int i = 0; i < SEEN_GONE; i++)
		if (cachestat_count(fd, first, nr))
			return false;
	return true;
}

/* Only ranges with an unexpected count are examined. An operation adds or drops, and hardly ever
 * does both in one small range; scan_all() finds such cases at the end. */
static void changes(struct oracle *o, uint64_t first, uint64_t nr)
{
	uint64_t count = cachestat_count(o->fd, first, nr);

	if (count == bitmap_count(o->now, first, nr))
		return;
	if (nr == 1) {
		if (count || is_gone(o->fd, first, 1))
			bitmap_put(o->now, first, count);
		return;
	}
	changes(o, first, nr / 2);
	changes(o, first + nr / 2, nr - nr / 2);
}

void cachestat_changes(struct oracle *o)
{
	memcpy(o->now, o->present, bitmap_words(o->nr_pages) * 8);
	for (int i = 0; i < ROUNDS; i++) {
		changes(o, 0, o->nr_pages);
		if (cachestat_count(o->fd, 0, o->nr_pages) == bitmap_count(o->now, 0, o->nr_pages))
			return;
	}
	oracle_disturb(o, "the page cache did not hold still for a scan", 0);
}

static void all(struct oracle *o, uint64_t *map, uint64_t first, uint64_t nr)
{
	uint64_t count = cachestat_count(o->fd, first, nr);

	if (count == nr || (!count && is_gone(o->fd, first, nr))) {
		for (uint64_t p = first; p < first + nr; p++)
			bitmap_put(map, p, count);
		return;
	}
	if (nr == 1) { /* was overlooked once */
		bitmap_put(map, first, true);
		return;
	}
	all(o, map, first, nr / 2);
	all(o, map, first + nr / 2, nr - nr / 2);
}

void cachestat_all(struct oracle *o, uint64_t *map)
{
	all(o, map, 0, o->nr_pages);
}
