/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers that know what they read, at the speed of C. Owns no expectation: prints what it asked
 * for, as one line of JSON, and whoever started it compares.
 *
 *   hot FILE                  for each line N on stdin: N reads of one cached page each; quiet_ns
 * is the CPU time of a read in the quietest quarter of them make DIR DIRS FILES       sparse files
 * of one to three pages small DIR DIRS FILES      reads each of them once, whole big FILE BLOCK
 * PASSES     reads a file from its beginning to its end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096L

struct told {
	unsigned long calls, bytes, pages, files;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "reader: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long number(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (!*s || *end || !n) {
		fprintf(stderr, "reader: '%s' is no number above 0\n", s);
		exit(2);
	}
	return n;
}

static unsigned long long cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (unsigned long long)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (unsigned long long)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static unsigned long long thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void tell(const struct told *t, unsigned long long cpu, double quiet)
{
	printf("{\"read_calls\": %lu, \"read_bytes\": %lu, \"lookups\": %lu, \"files\": %lu, "
	       "\"cpu_ns\": %llu, \"quiet_ns\": %.1f}\n",
	       t->calls, t->bytes, t->pages, t->files, cpu, quiet);
	fflush(stdout);
}

static void count(struct told *t, long pos, long n)
{
	if (n <= 0)
		return;
	t->calls++;
	t->bytes += (unsigned long)n;
	t->pages += (unsigned long)((pos + n - 1) / PAGE - pos / PAGE + 1);
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Reads in parts of PART, so short that some are disturbed by nobody. */
static double hot_reads(int fd, unsigned long pages, unsigned long reads, struct told *t)
{
	enum { PART = 500, PARTS_MAX = 100000 };
	static double times[PARTS_MAX];
	static unsigned int at = 1;
	size_t parts = 0;
	char buf[PAGE];

	while (reads) {
		unsigned long long start = thread_ns();
		unsigned long n = reads < PART ? reads : PART;

		for (unsigned long i = 0; i < n; i++) {
			long pos = (long)((at >> 8) % pages) * PAGE;

			at = at * 1103515245 + 12345;
			count(t, pos, pread(fd, buf, sizeof(buf), pos));
		}
		if (parts < PARTS_MAX)
			times[parts++] = (double)(thread_ns() - start) / (double)n;
		reads -= n;
	}
	qsort(times, parts, sizeof(*times), compare_times);
	return times[parts / 4];
}

static void hot(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char line[32];

	if (fd < 0 || fstat(fd, &st))
		die(path);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct told t = {0};
		unsigned long long start = cpu_ns();
		double quiet;

		line[strcspn(line, "\n")] = '\0';
		quiet = hot_reads(fd, (unsigned long)st.st_size / PAGE, number(line), &t);
		tell(&t, cpu_ns() - start, quiet);
	}
}

/* One to three pages, most of them not to the last byte. */
static long small_size(unsigned long i)
{
	return (long)(i % 3 + 1) * PAGE - (long)(i % 7);
}

static void name_small(char *out, size_t size, const char *dir, unsigned long i,
		       unsigned long files)
{
	snprintf(out, size, "%s/d%04lu/f%06lu", dir, i / files, i % files);
}

static void make(const char *dir, unsigned long dirs, unsigned long files)
{
	char path[4096];

	for (unsigned long i = 0; i < dirs * files; i++) {
		int fd;

		if (i % files == 0) {
			snprintf(path, sizeof(path), "%s/d%04lu", dir, i / files);
			if (mkdir(path, 0755))
				die(path);
		}
		name_small(path, sizeof(path), dir, i, files);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0 || ftruncate(fd, small_size(i)))
			die(path);
		close(fd);
	}
}

static void small(const char *dir, unsigned long dirs, unsigned long files)
{
	char path[4096], buf[4 * PAGE];
	struct told t = {0};

	for (unsigned long i = 0; i < dirs * files; i++) {
		int fd;

		name_small(path, sizeof(path), dir, i, files);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			die(path);
		count(&t, 0, pread(fd, buf, sizeof(buf), 0));
		close(fd);
		t.files++;
	}
	tell(&t, cpu_ns(), 0);
}

static void big(const char *path, size_t block, unsigned long passes)
{
	int fd = open(path, O_RDONLY);
	char *buf = malloc(block);
	struct told t = {.files = 1};

	if (fd < 0 || !buf)
		die(path);
	while (passes--) {
		long pos = 0, n;

		while ((n = pread(fd, buf, block, pos)) > 0) {
			count(&t, pos, n);
			pos += n;
		}
		if (n < 0)
			die(path);
	}
	free(buf);
	close(fd);
	tell(&t, cpu_ns(), 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "hot"))
		hot(argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "make"))
		make(argv[2], number(argv[3]), number(argv[4]));
	else if (argc == 5 && !strcmp(argv[1], "small"))
		small(argv[2], number(argv[3]), number(argv[4]));
	else if (argc == 5 && !strcmp(argv[1], "big"))
		big(argv[2], number(argv[3]), number(argv[4]));
	else
		return fprintf(stderr, "usage: reader hot|make|small|big ...\n"), 2;
	return 0;
}
