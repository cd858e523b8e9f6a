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

int64_t selftest_resident(int fd, uint64_t offset, uint64_t length)
{
	struct cachestat_range range = {offset, length};
	struct cachestat cs;

	if (syscall(SYS_cachestat, fd, &range, &cs, 0))
		return -errno;
	return (int64_t)cs.nr_cache;
}

/* An empty cache for this file, or -EBUSY: pages that do not go are the test's disturbance. */
static int drop(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return selftest_resident(fd, 0, SELFTEST_BYTES) ? -EBUSY : 0;
}

/* One call, and what the kernel says was there before and came with it. resident: the pages in
 * the cache as of the last look. */
static int known_read(int fd, char *buf, int64_t offset, int64_t length, int64_t *resident,
		      struct selftest_truth *t)
{
	int64_t left = SELFTEST_BYTES - offset, asked = length < left ? length : left;
	int64_t before = selftest_resident(fd, 0, SELFTEST_BYTES), present, n;

	present = selftest_resident(fd, (uint64_t)offset / page_size() * page_size(),
				    (uint64_t)pages_of(offset, asked) * page_size());
	if (before < 0 || present < 0)
		return before < 0 ? (int)before : (int)present;
	/* Nobody but our calls may move pages. */
	if (before != *resident)
		t->disturbed = true;
	n = pread(fd, buf, (size_t)length, offset);
	if (n != asked)
		return n < 0 ? -errno : -EIO;
	*resident = selftest_resident(fd, 0, SELFTEST_BYTES);
	t->read_calls++;
	t->read_bytes += n;
	t->lookups += pages_of(offset, asked);
	t->misses += pages_of(offset, asked) - present;
	t->added += *resident - before;
	return 0;
}

static int read_all(int fd, int64_t resident, struct selftest_truth *t)
{
	char *buf = malloc(CHUNK_BYTES);
	int r = buf ? 0 : -ENOMEM;

	for (int64_t at = 0; !r && at < SELFTEST_BYTES; at += CHUNK_BYTES)
		r = known_read(fd, buf, at, CHUNK_BYTES, &resident, t);
	free(buf);
	return r;
}

static int run_cold(int fd, struct selftest_truth *t)
{
	int r = drop(fd);

	return r ? r : read_all(fd, 0, t);
}

static int run_warm(int fd, struct selftest_truth *t)
{
	int64_t all = pages_of(0, SELFTEST_BYTES);
	int r = selftest_resident(fd, 0, SELFTEST_BYTES) == all ? 0 : -EBUSY;

	return r ? r : read_all(fd, all, t);
}

static int run_random(int fd, struct selftest_truth *t)
{
	int64_t pages = SELFTEST_BYTES / page_size(), resident = 0;
	char *buf = malloc((size_t)page_size());
	uint32_t at = 1;
	int r = buf ? drop(fd) : -ENOMEM;

	if (!r)
		r = -posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; !r && i < RANDOM_READS; i++) {
		at = at * 1103515245 + 12345;
		r = known_read(fd, buf, (at >> 8) % pages * page_size(), page_size(), &resident, t);
	}
	free(buf);
	return r;
}

/* Every other page, back to front: faults that no read-around window explains away. Judged on
 * major faults and added pages; what is used of a mapping no hook can see. */
static int run_mmap(int fd, struct selftest_truth *t)
{
	int64_t pages = SELFTEST_BYTES / page_size(), resident;
	struct rusage before, after;
	char *map;
	int r = drop(fd);

	if (r)
		return r;
	map = mmap(NULL, SELFTEST_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	t->read_calls = t->read_bytes = t->lookups = t->misses = -1;
	getrusage(RUSAGE_SELF, &before);
	for (int64_t page = pages - 1; page >= 0; page -= 2)
		(void)*(volatile char *)(map + page * page_size());
	getrusage(RUSAGE_SELF, &after);
	resident = selftest_resident(fd, 0, SELFTEST_BYTES);
	munmap(map, SELFTEST_BYTES);
	t->major_faults = after.ru_majflt - before.ru_majflt;
	t->added = resident;
	return 0;
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
