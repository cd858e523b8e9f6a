/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader that knows what it reads, at the speed of C: one process that reads single pages of
 * FILE whenever a line on stdin says so. Owns no expectation: answers with a line of JSON.
 *
 *   hot N    N pages anywhere, all of them cached
 *   cold N   N pages from the beginning on, again and again, all of them dropped before each time
 *
 * quiet_ns is the CPU time of a read in the quietest quarter of them, and of its part in the drop.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PART = 500, PARTS_MAX = 100000 };

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "reader: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* In parts so short that some are disturbed by nobody; how long a read took in a quiet one. */
static double read_pages(int fd, unsigned long pages, unsigned long reads, int cold)
{
	static double times[PARTS_MAX];
	static unsigned int at = 1;
	unsigned long long drop_ns = 0;
	unsigned long next = pages, all = reads;
	size_t parts = 0;
	char buf[PAGE];

	while (reads) {
		unsigned long long start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		unsigned long n = reads < PART ? reads : PART;

		if (cold && next + n > pages) {
			next = 0;
			if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
				die("fadvise");
			drop_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
			start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		}
		for (unsigned long i = 0; i < n; i++) {
			unsigned long page = cold ? next++ : (at >> 8) % pages;

			at = at * 1103515245 + 12345;
			if (pread(fd, buf, sizeof(buf), (off_t)page * PAGE) != PAGE)
				die("a page");
		}
		if (parts < PARTS_MAX)
			times[parts++] =
				(double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)n;
		reads -= n;
	}
	qsort(times, parts, sizeof(*times), compare);
	return times[parts / 4] + (double)drop_ns / (double)all;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;
	char line[64];

	if (fd < 0 || fstat(fd, &st))
		die(argc == 2 ? argv[1] : "usage: reader FILE");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long reads = strchr(line, ' ') ? strtoul(strchr(line, ' '), NULL, 10) : 0;
		int cold = !strncmp(line, "cold ", 5);
		unsigned long long start;
		double quiet;

		if (!reads || (!cold && strncmp(line, "hot ", 4)))
			die(line);
		start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		quiet = read_pages(fd, (unsigned long)st.st_size / PAGE, reads, cold);
		printf("{\"lookups\": %lu, \"read_calls\": %lu, \"read_bytes\": %lu, "
		       "\"cpu_ns\": %llu, \"quiet_ns\": %.1f}\n",
		       reads, reads, reads * PAGE, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start,
		       quiet);
		fflush(stdout);
	}
	return 0;
}
