/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acts that tests/bench/icount measures in addition to hot reads: each in blocks. A line per block
 * has the act and the nanoseconds that one act takes, by the CPU time of the thread if it waits for
 * a disk, otherwise by the clock. If the clock counts instructions, these are instructions. Each
 * hook given after the other arguments has an empty program during the measurement.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "empties.h"

enum { PAGE = 4096, PAGES = 1024, OPS = 50 };

struct acts {
	const char *dir;
	int file; /* of PAGES pages */
	int block;
	int ping[2], pong[2];
	long at;
};

typedef void act(struct acts *a);

static int file_of(const struct acts *a, const char *name, long nr, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s%ld", a->dir, name, nr);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		bench_fail("cannot open %s", path);
	return fd;
}

static void fill(int fd, long pages)
{
	static char page[PAGE];

	for (long i = 0; i < pages; i++)
		if (write(fd, page, PAGE) != PAGE)
			bench_fail("cannot write a file");
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		bench_fail("cannot write a file back");
}

static void read_at(int fd, long page)
{
	static char buf[PAGE];

	if (pread(fd, buf, PAGE, page * PAGE) != PAGE)
		bench_fail("a read failed");
}

static void cold_read(struct acts *a)
{
	for (int i = 0; i < OPS; i++, a->at++)
		read_at(a->file, a->at * 7 % PAGES);
}

static void drop(struct acts *a)
{
	for (int i = 0; i < OPS; i++, a->at++)
		if (posix_fadvise(a->file, a->at * 7 % PAGES * PAGE, PAGE, POSIX_FADV_DONTNEED))
			bench_fail("a page stays");
}

static void small_files(struct acts *a, const char *name)
{
	for (int i = 0; i < OPS; i++) {
		int fd = file_of(a, name, a->block * OPS + i, O_RDONLY);

		read_at(fd, 0);
		close(fd);
	}
}

static void new_file(struct acts *a)
{
	small_files(a, "new");
}

static void small_file(struct acts *a)
{
	small_files(a, "warm");
}

static void mapped_fault(struct acts *a)
{
	int fd = file_of(a, "warm", 0, O_RDONLY);
	volatile char sum = 0;

	/* The same page, each time with a new fault. */
	for (int i = 0; i < OPS; i++) {
		char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

		if (map == MAP_FAILED)
			bench_fail("cannot map a file");
		sum += *map;
		munmap(map, PAGE);
	}
	close(fd);
}

static void anonymous_fault(struct acts *a)
{
	char *map =
		mmap(NULL, OPS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || madvise(map, OPS * PAGE, MADV_NOHUGEPAGE))
		bench_fail("no memory");
	for (int i = 0; i < OPS; i++)
		map[i * PAGE] = 1;
	munmap(map, OPS * PAGE);
}

/* To another process and back: two switches. */
static void switches(struct acts *a)
{
	char c = 0;

	for (int i = 0; i < OPS / 2; i++)
		if (write(a->ping[1], &c, 1) != 1 || read(a->pong[0], &c, 1) != 1)
			bench_fail("the other process is gone");
}

static void answer(const struct acts *a)
{
	char c;

	close(a->ping[1]);
	while (read(a->ping[0], &c, 1) == 1)
		if (write(a->pong[1], &c, 1) != 1)
			break;
	_exit(0);
}

/* Runs before all blocks of a turn. */
static void prepare(struct acts *a, int blocks)
{
	posix_fadvise(a->file, 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(a->file, 0, 0, POSIX_FADV_DONTNEED);
	a->at = 0;
	for (long i = 0; i < (long)blocks * OPS; i++) {
		int fd = file_of(a, "new", i, O_RDONLY);

		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
}

static void make_files(struct acts *a, int blocks)
{
	a->file = file_of(a, "file", 0, O_RDWR | O_CREAT | O_TRUNC);
	fill(a->file, PAGES);
	for (long i = 0; i < (long)blocks * OPS; i++) {
		int fd = file_of(a, "new", i, O_RDWR | O_CREAT | O_TRUNC);

		fill(fd, 1);
		close(fd);
		fd = file_of(a, "warm", i, O_RDWR | O_CREAT | O_TRUNC);
		fill(fd, 1);
		read_at(fd, 0);
		close(fd);
	}
}

static const struct {
	const char *name;
	act *act;
	bool waits; /* for a disk */
} acts[] = {
	{"cold_read", cold_read, true},	       {"drop", drop, false},
	{"new_file", new_file, true},	       {"small_file", small_file, false},
	{"mapped_fault", mapped_fault, false}, {"anonymous_fault", anonymous_fault, false},
	{"switch", switches, false},
};

static void measure(struct acts *a, int blocks, FILE *out)
{
	for (size_t k = 0; k < sizeof(acts) / sizeof(acts[0]); k++) {
		a->at = 0;
		for (a->block = 0; a->block < blocks; a->block++) {
			uint64_t cpu = bench_thread_cpu_ns(), clock = bench_now_ns(), ns;

			acts[k].act(a);
			clock = bench_now_ns() - clock;
			cpu = bench_thread_cpu_ns() - cpu;
			ns = acts[k].waits ? cpu : clock;
			fprintf(out, "%s %.2f\n", acts[k].name, (double)ns / OPS);
		}
	}
}

int main(int argc, char **argv)
{
	struct empties empties[4] = {};
	struct acts a = {};
	FILE *out;
	int blocks;

	if (argc < 4 || argc > 8) {
		fprintf(stderr, "usage: icount_acts DIR OUT BLOCKS [HOOK]...\n");
		return 2;
	}
	a.dir = argv[1];
	blocks = atoi(argv[3]);
	/* Opened and buffered first, so that no page of the output is dirtied during the
	 * measurement. */
	out = fopen(argv[2], "w");
	if (!out || blocks < 1 || blocks * OPS > PAGES)
		bench_fail("cannot keep %d blocks in %s", blocks, argv[2]);
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	make_files(&a, blocks);
	if (pipe(a.ping) || pipe(a.pong))
		bench_fail("no pipes");
	if (!fork())
		answer(&a);
	close(a.ping[0]);
	prepare(&a, blocks);
	for (int i = 4; i < argc; i++)
		empties_attach_hook(argv[i], &empties[i - 4]);
	measure(&a, blocks, out);
	if (fclose(out))
		bench_fail("cannot write %s", argv[2]);
	return 0;
}
