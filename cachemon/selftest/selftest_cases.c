/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/selftest/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define CHUNK_BYTES  (128 * 1024)
#define RANDOM_READS 1000

static int64_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int64_t pages_of(int64_t offset, int64_t length)
{
	return (offset + length - 1) / page_size() - offset / page_size() + 1;
}

/* The file with that many cached pages, or -EBUSY: other processes disturb the test. */
static int begin_case(struct selftest_look *l, int64_t pages)
{
	int64_t there;
	int r = look_begin(l, &there);

	if (r)
		return r;
	return there == pages ? 0 : -EBUSY;
}

static int begin_empty(struct selftest_look *l)
{
	posix_fadvise(l->fd, 0, 0, POSIX_FADV_DONTNEED);
	return begin_case(l, 0);
}

/* Makes one call, and records what the kernel reports as present before it and added by it. */
static int known_read(struct selftest_look *l, char *buf, int64_t offset, int64_t length,
		      struct selftest_truth *t)
{
	int64_t left = SELFTEST_BYTES - offset, asked = length < left ? length : left;
	int r = look_before(l, &t->disturbed);
	int64_t n, there;

	if (!r)
		r = look_range(l, offset / page_size(), pages_of(offset, asked), &there);
	if (r)
		return r;
	n = pread(l->fd, buf, (size_t)length, offset);
	if (n != asked)
		return n < 0 ? -errno : -EIO;
	t->read_calls++;
	t->read_bytes += n;
	t->lookups += pages_of(offset, asked);
	t->misses += pages_of(offset, asked) - there;
	return look_after(l, &t->added, &t->disturbed);
}

static int read_all(struct selftest_look *l, struct selftest_truth *t)
{
	char *buf = malloc(CHUNK_BYTES);
	int r = buf ? 0 : -ENOMEM;

	for (int64_t at = 0; !r && at < SELFTEST_BYTES; at += CHUNK_BYTES)
		r = known_read(l, buf, at, CHUNK_BYTES, t);
	free(buf);
	return r;
}

static int run_cold(struct selftest_look *l, struct selftest_truth *t)
{
	int r = begin_empty(l);

	return r ? r : read_all(l, t);
}

static int run_warm(struct selftest_look *l, struct selftest_truth *t)
{
	int r = begin_case(l, pages_of(0, SELFTEST_BYTES));

	return r ? r : read_all(l, t);
}

static int run_random(struct selftest_look *l, struct selftest_truth *t)
{
	int64_t pages = SELFTEST_BYTES / page_size();
	char *buf = malloc((size_t)page_size());
	uint32_t at = 1;
	int r = buf ? begin_empty(l) : -ENOMEM;

	if (!r)
		r = -posix_fadvise(l->fd, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; !r && i < RANDOM_READS; i++) {
		at = at * 1103515245 + 12345;
		r = known_read(l, buf, (at >> 8) % pages * page_size(), page_size(), t);
	}
	free(buf);
	return r;
}

static int known_touch(struct selftest_look *l, const volatile char *byte, struct selftest_truth *t)
{
	struct rusage before, after;
	int r = look_before(l, &t->disturbed);

	if (r)
		return r;
	getrusage(RUSAGE_SELF, &before);
	(void)*byte;
	getrusage(RUSAGE_SELF, &after);
	t->major_faults += after.ru_majflt - before.ru_majflt;
	return look_after(l, &t->added, &t->disturbed);
}

/* Every other page, back to front: faults that no read-around window can explain. Checks major
 * faults and added pages; no hook can see the use of a mapping. */
static int run_mmap(struct selftest_look *l, struct selftest_truth *t)
{
	int64_t pages = SELFTEST_BYTES / page_size();
	char *map;
	int r = begin_empty(l);

	if (r)
		return r;
	map = mmap(NULL, SELFTEST_BYTES, PROT_READ, MAP_SHARED, l->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	t->read_calls = t->read_bytes = t->lookups = t->misses = -1;
	t->major_faults = 0;
	for (int64_t page = pages - 1; !r && page >= 0; page -= 2)
		r = known_touch(l, map + page * page_size(), t);
	munmap(map, SELFTEST_BYTES);
	return r;
}

const struct selftest_case *selftest_cases(int *ret_nr)
{
	static const struct selftest_case cases[] = {
		{"cold", "16 MiB by 128 KiB, nothing cached", run_cold},
		{"warm", "the same, all of it cached", run_warm},
		{"random", "1,000 pages at random, after RANDOM advice", run_random},
		{"mmap", "every other page of a mapping", run_mmap},
	};

	*ret_nr = sizeof(cases) / sizeof(cases[0]);
	return cases;
}
