/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally OUT CHUNK drop|keep [FILE...]: reads each file from beginning to end in calls of CHUNK
 * bytes; with drop, also evicts it from the page cache afterwards. It writes the counts in pages to
 * OUT, from cachestat(2) before and after each step. Independent of cachemon. OUT "-": no output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static struct {
	unsigned long long read_calls, read_bytes, lookups, misses, added, dropped;
	unsigned long long disturbed; /* pages that others evicted meanwhile */
} sum;
static unsigned long long page;

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(errno == ENOSYS ? 77 : 99);
}

/* Cached pages of the range. */
static unsigned long long cached(int fd, unsigned long long at, unsigned long long length)
{
	unsigned long long range[2] = {at, length}, counts[5];

	if (syscall(SYS_cachestat, fd, range, counts, 0))
		fail("cachestat");
	return counts[0];
}

static void read_file(const char *name, size_t chunk, int drop)
{
	static char buf[1 << 20];
	unsigned long long before, after = 0, at = 0, size;
	int fd = open(name, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fail(name);
	size = st.st_size;
	while (at < size) {
		unsigned long long end = at + chunk < size ? at + chunk : size;
		unsigned long long pages = (end - 1) / page - at / page + 1;
		unsigned long long first = at / page * page;
		ssize_t n;

		if (at)
			sum.disturbed += after - cached(fd, 0, 0);
		before = cached(fd, 0, 0);
		sum.misses += pages - cached(fd, first, pages * page);
		sum.lookups += pages;
		n = pread(fd, buf, chunk, at);
		if (n <= 0)
			fail(name);
		sum.read_calls++;
		sum.read_bytes += n;
		at += n;
		after = cached(fd, 0, 0);
		sum.added += after - before;
		/* All pages read so far are cached, unless one was evicted during this very
		 * call. */
		sum.disturbed += (at - 1) / page + 1 - cached(fd, 0, (at - 1) / page * page + page);
	}
	if (drop) {
		before = cached(fd, 0, 0);
		if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
			fail(name);
		sum.dropped += before - cached(fd, 0, 0);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	size_t chunk = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	FILE *out;

	page = sysconf(_SC_PAGESIZE);
	if (chunk == 0 || chunk > 1 << 20) {
		fprintf(stderr, "usage: tally OUT CHUNK drop|keep [FILE...]\n");
		return 99;
	}
	for (int i = 4; i < argc; i++)
		read_file(argv[i], chunk, !strcmp(argv[3], "drop"));
	if (!strcmp(argv[1], "-"))
		return 0;
	out = fopen(argv[1], "w");
	if (!out)
		fail(argv[1]);
	fprintf(out,
		"{\"read_calls\": %llu, \"read_bytes\": %llu, \"lookups\": %llu, \"misses\": %llu, "
		"\"added\": %llu, \"dropped\": %llu, \"disturbed\": %llu}\n",
		sum.read_calls, sum.read_bytes, sum.lookups, sum.misses, sum.added, sum.dropped,
		sum.disturbed);
	return fclose(out) ? 99 : 0;
}
