/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job with known reuse: single pages of a file, read in one of several orders. Enters a cgroup
 * first, so that all of its cache is charged there. usage: curve_load FILE PAGES LOOKUPS
 * uniform|zipf|shuffled|cyclic|moving [CGROUP.PROCS]
 */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, MOVE_EVERY = 5 };

static uint64_t state = UINT64_C(88172645463325252);

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % n);
}

static int die(const char *what)
{
	perror(what);
	return 1;
}

static int enter(const char *procs)
{
	char pid[16];
	int len = snprintf(pid, sizeof(pid), "%d", getpid());
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, pid, (size_t)len) != len)
		return -1;
	return close(fd);
}

static void shuffle(uint32_t *order, uint32_t n)
{
	for (uint32_t i = n; i-- > 1;) {
		uint32_t j = below(i + 1);
		uint32_t was = order[i];

		order[i] = order[j];
		order[j] = was;
	}
}

/* Ranks are scattered over the file. */
static uint32_t zipf(const double *sum, const uint32_t *order, uint32_t n)
{
	double want = below(UINT32_MAX) / (double)UINT32_MAX * sum[n - 1];
	uint32_t lo = 0;
	uint32_t hi = n - 1;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (sum[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return order[lo];
}

static uint32_t page_of(const char *kind, long i, uint32_t n, uint32_t *order, const double *sum)
{
	if (strcmp(kind, "cyclic") == 0)
		return (uint32_t)(i % n);
	if (strcmp(kind, "zipf") == 0)
		return zipf(sum, order, n);
	if (strcmp(kind, "moving") == 0 && below(10))
		return ((uint32_t)(i / MOVE_EVERY) + below(n / 5)) % n;
	if (strcmp(kind, "shuffled") == 0) {
		if (i % n == 0)
			shuffle(order, n);
		return order[i % n];
	}
	return below(n);
}

static int read_all(int fd, const char *kind, uint32_t n, long lookups)
{
	uint32_t *order = malloc(n * sizeof(*order));
	double *sum = malloc(n * sizeof(*sum));
	char page[PAGE];
	double all = 0;

	if (!order || !sum)
		return die("malloc");
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		all += pow(i + 1.0, -0.9);
		sum[i] = all;
	}
	shuffle(order, n);
	for (long i = 0; i < lookups; i++)
		if (pread(fd, page, PAGE, (off_t)page_of(kind, i, n, order, sum) * PAGE) != PAGE)
			return die("pread");
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t pages = argc > 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	long lookups = argc > 4 ? strtol(argv[3], NULL, 10) : 0;
	int fd = -1;

	if (!pages || !lookups) {
		fputs("usage: curve_load FILE PAGES LOOKUPS KIND [CGROUP.PROCS]\n", stderr);
		return 2;
	}
	if (argc > 5 && enter(argv[5]) < 0)
		return die(argv[5]);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return die(argv[1]);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return die("posix_fadvise");
	return read_all(fd, argv[4], pages, lookups);
}
