/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large jobs that count their own reads: cachestat(2) is called before and after each read, and the
 * sums go to OUT as one JSON object. Independent of cachemon.
 *
 *   make DIR FILES           sparse files of one to three pages, PER_DIR of them in a directory
 *   small OUT DIR FILES      reads each once, every fourth in calls of a page, the others in one
 *   big OUT FILE BLOCK MORE  reads a file from beginning to end, and MORE times again
 *   nothing OUT              only starts
 *   peak OUT CMD...          runs CMD; OUT: its peak resident memory, its status
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { PER_DIR = 1000, PAGE = 4096 };
/* No readahead window reaches further beyond its read. */
#define REACH (64L << 20)

static struct {
	unsigned long long files, read_calls, read_bytes, lookups, misses, added;
	unsigned long long disturbed; /* pages that were gone right after their read */
	unsigned long long resident;  /* at the end; only `big` */
} sum;

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(errno == ENOSYS ? 77 : 99);
}

static unsigned long long number(const char *s)
{
	char *end;
	unsigned long long n = strtoull(s, &end, 10);

	if (*s < '0' || *s > '9' || *end) {
		fprintf(stderr, "scale_job: '%s' is no number\n", s);
		exit(99);
	}
	return n;
}

/* Cached pages of the range. */
static unsigned long long cached(int fd, long at, long length)
{
	unsigned long long range[2] = {(unsigned long long)at, (unsigned long long)length};
	unsigned long long counts[5];

	if (syscall(SYS_cachestat, fd, range, counts, 0))
		fail("cachestat");
	return counts[0];
}

/* Bytes read, 0 at the end of the file. */
static long read_at(int fd, char *buf, size_t size, long at, long file_size)
{
	long end = at + (long)size < file_size ? at + (long)size : file_size;
	long first = at / PAGE * PAGE, length = (end + PAGE - 1) / PAGE * PAGE - first;
	unsigned long long pages = (unsigned long long)(length / PAGE), before, there, n;
	long got;

	if (end <= at)
		return 0;
	there = cached(fd, first, length);
	before = cached(fd, first, length + REACH);
	got = pread(fd, buf, size, at);
	if (got != end - at)
		fail("pread");
	n = cached(fd, first, length + REACH);
	if (n < before) /* then the added pages are not known */
		sum.disturbed += before - n;
	else
		sum.added += n - before;
	sum.disturbed += pages - cached(fd, first, length);
	sum.read_calls++;
	sum.read_bytes += (unsigned long long)got;
	sum.lookups += pages;
	sum.misses += pages - there;
	return got;
}

/* One to three pages, six of seven not to the last byte. */
static long small_size(unsigned long long i)
{
	return (long)(i % 3 + 1) * PAGE - (long)(i % 7);
}

static void name_small(char *out, size_t size, const char *dir, unsigned long long i)
{
	snprintf(out, size, "%s/d%04llu/f%03llu", dir, i / PER_DIR, i % PER_DIR);
}

static void make(const char *dir, unsigned long long files)
{
	char path[4096];

	for (unsigned long long i = 0; i < files; i++) {
		int fd;

		if (i % PER_DIR == 0) {
			snprintf(path, sizeof(path), "%s/d%04llu", dir, i / PER_DIR);
			if (mkdir(path, 0755))
				fail(path);
		}
		name_small(path, sizeof(path), dir, i);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0 || ftruncate(fd, small_size(i)))
			fail(path);
		close(fd);
	}
}

static void small(const char *dir, unsigned long long files)
{
	char path[4096], buf[4 * PAGE];

	for (unsigned long long i = 0; i < files; i++) {
		size_t block = i % 4 ? sizeof(buf) : PAGE;
		long at = 0, n;
		int fd;

		name_small(path, sizeof(path), dir, i);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			fail(path);
		while ((n = read_at(fd, buf, block, at, small_size(i))))
			at += n;
		close(fd);
		sum.files++;
	}
}

static void big(const char *path, size_t block, unsigned long long more)
{
	int fd = open(path, O_RDONLY);
	char *buf = malloc(block);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !buf)
		fail(path);
	for (unsigned long long pass = 0; pass <= more; pass++) {
		long at = 0, n;

		while ((n = read_at(fd, buf, block, at, (long)st.st_size)))
			at += n;
	}
	sum.files = 1;
	sum.resident = cached(fd, 0, 0);
	free(buf);
	close(fd);
}

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		fail(path);
	return f;
}

static void tell(const char *path)
{
	FILE *f = create(path);

	fprintf(f,
		"{\"files\": %llu, \"read_calls\": %llu, \"read_bytes\": %llu, \"lookups\": %llu, "
		"\"misses\": %llu, \"added\": %llu, \"disturbed\": %llu, \"resident\": %llu}\n",
		sum.files, sum.read_calls, sum.read_bytes, sum.lookups, sum.misses, sum.added,
		sum.disturbed, sum.resident);
	if (fclose(f))
		fail(path);
}

/* The kernel's own peak, which no sampling can miss. It includes children that CMD waited for. */
static void peak(const char *out, char **argv)
{
	struct rusage usage;
	pid_t pid = fork();
	FILE *f;
	int status;

	if (!pid) {
		execvp(argv[0], argv);
		fail(argv[0]);
	}
	printf("%d\n", pid);
	fflush(stdout);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		fail("wait4");
	f = create(out);
	fprintf(f, "{\"status\": %d, \"peak_bytes\": %lld, \"cpu_s\": %.2f}\n",
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		1024LL * usage.ru_maxrss,
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	if (fclose(f))
		fail(out);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";

	if (!strcmp(verb, "make") && argc == 4) {
		make(argv[2], number(argv[3]));
		return 0;
	}
	if (!strcmp(verb, "peak") && argc > 3) {
		peak(argv[2], argv + 3);
		return 0;
	}
	if (!strcmp(verb, "small") && argc == 5)
		small(argv[3], number(argv[4]));
	else if (!strcmp(verb, "big") && argc == 6)
		big(argv[3], number(argv[4]), number(argv[5]));
	else if (strcmp(verb, "nothing") != 0 || argc != 3)
		return fprintf(stderr, "usage: scale_job make|small|big|nothing|peak ...\n"), 99;
	tell(argv[2]);
	return 0;
}
