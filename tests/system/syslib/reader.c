/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader with a known number of reads, at the speed of C: one process that reads single pages of
 * FILE for each line on stdin, and answers with a line of JSON.
 *
 *   hot N    N random pages, all of them cached
 *   cold N   N pages from the beginning, repeatedly, all of them dropped before each pass
 *
 * control_ns is the CPU time of reading a page of anonymous memory, which does not use the read
 * path of the page cache. ratio is the time of a page of FILE, including its part of the drop,
 * divided by control_ns. Both kinds alternate, a fraction of a millisecond each, so that a changing
 * clock speed, a busy neighbour on the core or cold caches affect both equally.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PART = 200, PARTS_MAX = 100000, CONTROL_PAGES = 4096 };

struct answer {
	unsigned long long reads_ns; /* CPU time of all reads of FILE */
	double ratio, control_ns;
};

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

static double middle(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), compare);
	return v[nr / 2];
}

static unsigned long anywhere(unsigned long pages)
{
	static unsigned int at = 1;

	at = at * 1103515245 + 12345;
	return (at >> 8) % pages;
}

static void read_page(int fd, unsigned long page)
{
	static char buf[PAGE];

	if (pread(fd, buf, sizeof(buf), (off_t)page * PAGE) != PAGE)
		die("a page");
}

static int control_open(void)
{
	static const char page[PAGE];
	int fd = memfd_create("control", MFD_CLOEXEC);

	for (int i = 0; i < CONTROL_PAGES; i++)
		if (fd < 0 || write(fd, page, PAGE) != PAGE)
			die("the control");
	return fd;
}

static double control_ns(int fd, unsigned long reads)
{
	unsigned long long start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned long i = 0; i < reads; i++)
		read_page(fd, anywhere(CONTROL_PAGES));
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)reads;
}

static struct answer read_pages(int fd, int control, unsigned long pages, unsigned long reads,
				int cold)
{
	static double ratios[PARTS_MAX], controls[PARTS_MAX];
	unsigned long next = pages, all = reads;
	unsigned long long drop_ns = 0;
	struct answer a = {0};
	size_t parts = 0;

	while (reads) {
		unsigned long n = reads < PART ? reads : PART;
		unsigned long long start = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns;
		double beside;

		if (cold && next + n > pages) {
			next = 0;
			if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
				die("fadvise");
			drop_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		}
		beside = control_ns(control, PART / 2);
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned long i = 0; i < n; i++)
			read_page(fd, cold ? next++ : anywhere(pages));
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		beside = (beside + control_ns(control, PART / 2)) / 2;
		a.reads_ns += ns;
		if (parts < PARTS_MAX) {
			controls[parts] = beside;
			ratios[parts++] = (double)ns / (double)n / beside;
		}
		reads -= n;
	}
	a.control_ns = middle(controls, parts);
	a.ratio = middle(ratios, parts) + (double)drop_ns / (double)all / a.control_ns;
	a.reads_ns += drop_ns;
	return a;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1, control;
	struct stat st;
	char line[64];

	if (fd < 0 || fstat(fd, &st))
		die(argc == 2 ? argv[1] : "usage: reader FILE");
	control = control_open();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long reads = strchr(line, ' ') ? strtoul(strchr(line, ' '), NULL, 10) : 0;
		int cold = !strncmp(line, "cold ", 5);
		unsigned long long start;
		struct answer a;

		if (!reads || (!cold && strncmp(line, "hot ", 4)))
			die(line);
		start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		a = read_pages(fd, control, (unsigned long)st.st_size / PAGE, reads, cold);
		printf("{\"lookups\": %lu, \"read_calls\": %lu, \"read_bytes\": %lu, "
		       "\"cpu_ns\": %llu, \"reads_ns\": %llu, \"ratio\": %.4f, "
		       "\"control_ns\": %.1f}\n",
		       reads, reads, reads * PAGE, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start,
		       a.reads_ns, a.ratio, a.control_ns);
		fflush(stdout);
	}
	return 0;
}
