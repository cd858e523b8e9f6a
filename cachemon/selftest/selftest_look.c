/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/selftest/selftest_look.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cachemon/base/clock.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define SECTOR_BYTES 512
/* Pages that do not come in this time were evicted by others, or were not requested. */
#define WAIT_NS 3000000000ULL

static int64_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int ask_kernel(int fd, int64_t offset, int64_t length, struct cachestat *ret)
{
	struct cachestat_range range = {(uint64_t)offset, (uint64_t)length};

	return syscall(SYS_cachestat, fd, &range, ret, 0) ? -errno : 0;
}

bool selftest_by_mincore(void)
{
	struct cachestat cs;

	return ask_kernel(-1, 0, 0, &cs) == -ENOSYS;
}

int look_open(struct selftest_look *l, int fd, int64_t bytes)
{
	*l = (struct selftest_look){
		.fd = fd,
		.bytes = bytes,
		.nr_pages = (bytes + page_size() - 1) / page_size(),
	};
	if (!selftest_by_mincore())
		return 0;
	l->was = calloc((size_t)l->nr_pages, 2);
	if (!l->was)
		return -ENOMEM;
	l->is = l->was + l->nr_pages;
	l->map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (l->map == MAP_FAILED) {
		l->map = NULL;
		return -errno;
	}
	return 0;
}

void look_close(struct selftest_look *l)
{
	if (l->map)
		munmap(l->map, (size_t)l->bytes);
	free(l->was);
	*l = (struct selftest_look){.fd = -1};
}

static int64_t asked_sectors(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_inblock;
}

/* The bytes that this process has requested from disks since the last check: whole pages, except
 * the file's last. */
static int64_t asked_pages(const struct selftest_look *l)
{
	int64_t bytes = (asked_sectors() - l->asked_first) * SECTOR_BYTES;

	return (bytes + page_size() - 1) / page_size();
}

static int present(struct selftest_look *l, int64_t *ret_pages)
{
	int64_t pages = 0;

	*ret_pages = 0;
	if (mincore(l->map, (size_t)l->bytes, l->is))
		return -errno;
	for (int64_t i = 0; i < l->nr_pages; i++)
		pages += l->is[i] & 1;
	*ret_pages = pages;
	return 0;
}

/* Waits until all requested pages are present: with more or fewer, other processes may have
 * interfered. */
static int present_settled(struct selftest_look *l, int64_t *ret_pages, bool *disturbed)
{
	uint64_t until = clock_now_ns() + WAIT_NS;

	for (;;) {
		int r = present(l, ret_pages);

		if (r || *ret_pages - l->there_first == asked_pages(l))
			return r;
		if (clock_now_ns() > until) {
			*disturbed = true;
			return -EBUSY;
		}
		sched_yield();
	}
}

/* The number of present pages that were absent at the last check. */
static int moved(struct selftest_look *l, bool *disturbed, int64_t *ret_came, int64_t *ret_left)
{
	int64_t pages;
	int r = present_settled(l, &pages, disturbed);

	*ret_came = *ret_left = 0;
	for (int64_t i = 0; !r && i < l->nr_pages; i++) {
		*ret_came += (l->is[i] & 1) && !(l->was[i] & 1);
		*ret_left += !(l->is[i] & 1) && (l->was[i] & 1);
	}
	if (!r)
		memcpy(l->was, l->is, (size_t)l->nr_pages);
	return r;
}

int look_begin(struct selftest_look *l, int64_t *ret_pages)
{
	int r;

	if (!l->map) {
		r = ask_kernel(l->fd, 0, l->bytes, &l->last);
		*ret_pages = (int64_t)l->last.nr_cache;
		return r;
	}
	r = present(l, ret_pages);
	memcpy(l->was, l->is, (size_t)l->nr_pages);
	l->there_first = *ret_pages;
	l->asked_first = asked_sectors();
	return r;
}

/* Whether the file's pages are as after the last call; otherwise another process moved them. */
int look_before(struct selftest_look *l, bool *disturbed)
{
	struct cachestat now;
	int64_t came, left;
	int r;

	if (l->map) {
		r = moved(l, disturbed, &came, &left);
		if (came || left)
			*disturbed = true;
		return r;
	}
	r = ask_kernel(l->fd, 0, l->bytes, &now);
	if (r)
		return r;
	if (now.nr_cache != l->last.nr_cache || now.nr_evicted > l->last.nr_evicted)
		*disturbed = true;
	l->last = now;
	l->asked_first = asked_sectors();
	return 0;
}

int look_range(struct selftest_look *l, int64_t first, int64_t nr, int64_t *ret_pages)
{
	struct cachestat cs = {0};
	int r = 0;

	if (!l->map)
		r = ask_kernel(l->fd, first * page_size(), nr * page_size(), &cs);
	for (int64_t i = first; l->map && i < first + nr; i++)
		cs.nr_cache += l->was[i] & 1;
	*ret_pages = (int64_t)cs.nr_cache;
	return r;
}

/* Reclaim during a call leaves a trace, but only until the kernel needs that memory, and
 * invalidation leaves none. A page that was read twice was evicted in between. Requests to a
 * disk may be fewer than the pages (compression, data in the inode). */
int look_after(struct selftest_look *l, int64_t *added, bool *disturbed)
{
	struct cachestat now;
	int64_t came, left;
	int r;

	if (l->map) {
		r = moved(l, disturbed, &came, &left);
		if (left)
			*disturbed = true;
		*added += came;
		return r;
	}
	r = ask_kernel(l->fd, 0, l->bytes, &now);
	if (r)
		return r;
	came = (int64_t)now.nr_cache - (int64_t)l->last.nr_cache;
	if (now.nr_evicted > l->last.nr_evicted || asked_pages(l) > came)
		*disturbed = true;
	*added += came;
	l->last = now;
	return 0;
}
