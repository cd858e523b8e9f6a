/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define CHUNK_BYTES  (128 * 1024)
#define RANDOM_READS 1000

/* include/uapi/linux/mman.h, kernel 6.5 */
struct cachestat_range {
	uint64_t off, len;
};
struct cachestat {
	uint64_t nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
};

static int64_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int64_t pages_of(int64_t offset, int64_t length)
{
	return (offset + length - 1) / page_size() - offset / page_size() + 1;
}

static int look(int fd, uint64_t offset, uint64_t length, struct cachestat *ret)
{
	struct cachestat_range range = {offset, length};

	return syscall(SYS_cachestat, fd, &range, ret, 0) ? -errno : 0;
}

int64_t selftest_resident(int fd, uint64_t offset, uint64_t length)
{
	struct cachestat cs;
	int r = look(fd, offset, length, &cs);

	return r ? r : (int64_t)cs.nr_cache;
}

/* The whole file's pages between our calls: as the last look left them, else they were moved by
 * somebody else. What reclaim takes during a call leaves a trace, and traces only go. */
static int look_before(int fd, struct cachestat *last, struct selftest_truth *t)
{
	struct cachestat now;
	int r = look(fd, 0, SELFTEST_BYTES, &now);

	if (r)
		return r;
	if (now.nr_cache != last->nr_cache || now.nr_evicted > last->nr_evicted)
		t->disturbed = true;
	*last = now;
	return 0;
}

/* Counts what the call added. */
static int look_after(int fd, struct cachestat *last, struct selftest_truth *t)
{
	struct cachestat now;
	int r = look(fd, 0, SELFTEST_BYTES, &now);

	if (r)
		return r;
	if (now.nr_evicted > last->nr_evicted)
		t->disturbed = true;
	t->added += (int64_t)now.nr_cache - (int64_t)last->nr_cache;
	*last = now;
	return 0;
}

/* The file with so many pages in the cache, or -EBUSY: others are the test's disturbance. */
static int begin(int fd, int64_t pages, struct cachestat *ret)
{
	int r = look(fd, 0, SELFTEST_BYTES, ret);

	if (r)
		return r;
	return (int64_t)ret->nr_cache == pages ? 0 : -EBUSY;
}

static int begin_empty(int fd, struct cachestat *ret)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return begin(fd, 0, ret);
}

/* One call, and what the kernel says was there before and came with it. last: as of the last look
 * at the whole file. */
static int known_read(int fd, char *buf, int64_t offset, int64_t length, struct cachestat *last,
		      struct selftest_truth *t)
{
	int64_t left = SELFTEST_BYTES - offset, asked = length < left ? length : left;
	struct cachestat range;
	int r = look_before(fd, last, t);
	int64_t n;

	if (!r)
		r = look(fd, (uint64_t)offset / page_size() * page_size(),
			 (uint64_t)pages_of(offset, asked) * page_size(), &range);
	if (r)
		return r;
	n = pread(fd, buf, (size_t)length, offset);
	if (n != asked)
		return n < 0 ? -errno : -EIO;
	t->read_calls++;
	t->read_bytes += n;
	t->lookups += pages_of(offset, asked);
	t->misses += pages_of(offset, asked) - (int64_t)range.nr_cache;
	return look_after(fd, last, t);
}

static int read_all(int fd, struct cachestat *last, struct selftest_truth *t)
{
	char *buf = malloc(CHUNK_BYTES);
	int r = buf ? 0 : -ENOMEM;

	for (int64_t at = 0; !r && at < SELFTEST_BYTES; at += CHUNK_BYTES)
		r = known_read(fd, buf, at, CHUNK_BYTES, last, t);
	free(buf);
	return r;
}

static int run_cold(int fd, struct selftest_truth *t)
{
	struct cachestat last;
	int r = begin_empty(fd, &last);

	return r ? r : read_all(fd, &last, t);
}

static int run_warm(int fd, struct selftest_truth *t)
{
	struct cachestat last;
	int r = begin(fd, pages_of(0, SELFTEST_BYTES), &last);

	return r ? r : read_all(fd, &last, t);
}

static int run_random(int fd, struct selftest_truth *t)
{
	int64_t pages = SELFTEST_BYTES / page_size();
	char *buf = malloc((size_t)page_size());
	struct cachestat last;
	uint32_t at = 1;
	int r = buf ? begin_empty(fd, &last) : -ENOMEM;

	if (!r)
		r = -posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; !r && i < RANDOM_READS; i++) {
		at = at * 1103515245 + 12345;
		r = known_read(fd, buf, (at >> 8) % pages * page_size(), page_size(), &last, t);
	}
	free(buf);
	return r;
}

static int known_touch(int fd, const volatile char *byte, struct cachestat *last,
		       struct selftest_truth *t)
{
	struct rusage before, after;
	int r = look_before(fd, last, t);

	if (r)
		return r;
	getrusage(RUSAGE_SELF, &before);
	(void)*byte;
	getrusage(RUSAGE_SELF, &after);
	t->major_faults += after.ru_majflt - before.ru_majflt;
	return look_after(fd, last, t);
}

/* Every other page, back to front: faults that no read-around window explains away. Judged on
 * major faults and added pages; what is used of a mapping no hook can see. */
static int run_mmap(int fd, struct selftest_truth *t)
{
	int64_t pages = SELFTEST_BYTES / page_size();
	struct cachestat last;
	char *map;
	int r = begin_empty(fd, &last);

	if (r)
		return r;
	map = mmap(NULL, SELFTEST_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	t->read_calls = t->read_bytes = t->lookups = t->misses = -1;
	t->major_faults = 0;
	for (int64_t page = pages - 1; !r && page >= 0; page -= 2)
		r = known_touch(fd, map + page * page_size(), &last, t);
	munmap(map, SELFTEST_BYTES);
	return r;
}

const struct selftest_case *selftest_cases(int *ret_nr)
{
	static const struct selftest_case cases[] = {
		{"cold", "16 MiB by 128 KiB, nothing cached", run_cold},
		{"warm", "the same, all of it cached", run_warm},
		{"random", "1,000 pages at random, advised so", run_random},
		{"mmap", "every other page of a mapping", run_mmap},
	};

	*ret_nr = sizeof(cases) / sizeof(cases[0]);
	return cases;
}
