// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether each page is present, by mincore(2) on a mapping that is never touched. It reports pages
 * that are up to date: a page in flight is absent.
 */
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bitmap.h"
#include "oracle.h"

/* A window is at most this many times as large as readahead or the call requests at once: a
 * synchronous one and an asynchronous one after it, rounded up to the largest folio. */
#define WINDOWS 4
#define LOOKS	64

static unsigned char *map_file(int fd, uint64_t nr)
{
	void *map = mmap(NULL, nr * PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		err(1, "mmap for mincore");
	return map;
}

void mincore_open(struct oracle *o)
{
	size_t bytes = o->nr_pages;

	if (looks() == LOOKS_CACHESTAT || !bytes)
		return;
	o->map = map_file(o->fd, o->nr_pages);
	o->bytes = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (o->bytes == MAP_FAILED || !oracle_may_go_on(mlock(o->bytes, bytes)))
		err(1, "memory for %s", o->path);
}

void mincore_close(struct oracle *o)
{
	if (!o->map)
		return;
	munmap(o->map, o->nr_pages * PAGE_BYTES);
	munmap(o->bytes, o->nr_pages);
	o->map = o->bytes = NULL;
}

uint64_t mincore_count(int fd, uint64_t nr)
{
	unsigned char *map = map_file(fd, nr), *bytes = malloc(nr);
	uint64_t sum = 0;

	if (!bytes || mincore(map, nr * PAGE_BYTES, bytes))
		err(1, "mincore");
	for (uint64_t p = 0; p < nr; p++)
		sum += bytes[p] & 1;
	free(bytes);
	munmap(map, nr * PAGE_BYTES);
	return sum;
}

static uint64_t pages_of_file(const struct oracle *o)
{
	struct stat st;

	if (fstat(o->fd, &st))
		err(1, "%s", o->path);
	return ((uint64_t)st.st_size + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* A page that a read on 5.10 leaves beyond the end of a file is not one of its pages, and does
 * not become one when the file grows over it: no event adds it to the file. */
static bool is_of_file(struct oracle *o, uint64_t page, bool cached, uint64_t end)
{
	if (!cached || page >= end)
		bitmap_put(o->stray, page, cached);
	return cached && !bitmap_test(o->stray, page);
}

/* Stores the range in map; returns how many pages changed. */
static uint64_t look_once(struct oracle *o, uint64_t *map, uint64_t first, uint64_t nr)
{
	uint64_t changed = 0, end;

	oracle_settle(o);
	end = pages_of_file(o);
	if (mincore(o->map + first * PAGE_BYTES, nr * PAGE_BYTES, o->bytes))
		err(1, "mincore");
	for (uint64_t i = 0; i < nr; i++) {
		bool is = is_of_file(o, first + i, o->bytes[i] & 1, end);

		changed += bitmap_test(map, first + i) != is;
		bitmap_put(map, first + i, is);
	}
	return changed;
}

void mincore_look(struct oracle *o, uint64_t *map, uint64_t first, uint64_t nr)
{
	if (!nr)
		return;
	for (int i = 0; i < LOOKS; i++)
		if (!look_once(o, map, first, nr))
			return;
	oracle_disturb(o, "the page cache did not hold still for a scan", 0);
}

static uint64_t read_ahead_pages(dev_t dev)
{
	static _Thread_local uint64_t pages;
	static _Thread_local dev_t of;
	unsigned long long kb = 0;
	char path[80];
	FILE *f;

	if (pages && of == dev)
		return pages;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/read_ahead_kb", major(dev),
		 minor(dev));
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu", &kb) != 1)
		errx(1, "%s: no read-ahead size", path);
	fclose(f);
	of = dev;
	pages = kb * 1024 / PAGE_BYTES + 1;
	return pages;
}

uint64_t mincore_reach(const struct oracle *o, uint64_t nr)
{
	uint64_t ahead;

	if (looks() == LOOKS_CACHESTAT)
		return 0;
	if (!major(o->dev)) /* its device has no disk */
		return o->nr_pages;
	ahead = read_ahead_pages(o->dev);
	return WINDOWS * (nr > ahead ? nr : ahead);
}
