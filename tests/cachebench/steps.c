// SPDX-License-Identifier: BSD-2-Clause
#include "steps.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (4 << 20)
#define PAGE	     4096ULL
#define FILES_MAX    64
#define SPARSE_BYTES (64 << 10)
#define NAME_BYTES   256

static struct {
	char name[NAME_BYTES];
	int fd;
} files[FILES_MAX];
static int nr_files;
static char buffer[BUFFER_BYTES] __attribute__((aligned(4096)));
static uint64_t seed = 88172645463325252ULL;

static uint64_t chance(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

void step_places(int number)
{
	seed += (uint64_t)number << 32;
}

/* Opened once and kept: advice stays with the description. */
static int fd_of(const char *name)
{
	for (int i = 0; i < nr_files; i++)
		if (!strcmp(files[i].name, name))
			return files[i].fd;
	if (nr_files == FILES_MAX)
		errx(1, "too many files");
	snprintf(files[nr_files].name, sizeof(files[0].name), "%s", name);
	files[nr_files].fd = open(name, O_RDWR | O_CLOEXEC);
	if (files[nr_files].fd < 0 && errno == EROFS)
		files[nr_files].fd = open(name, O_RDONLY | O_CLOEXEC);
	if (files[nr_files].fd < 0)
		err(1, "%s", name);
	return files[nr_files++].fd;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		err(1, "fstat");
	return (uint64_t)st.st_size;
}

static void read_at(int fd, uint64_t at, uint64_t bytes)
{
	if (pread(fd, buffer, bytes < BUFFER_BYTES ? bytes : BUFFER_BYTES, (off_t)at) < 0)
		err(1, "read");
}

static void think(uint64_t us)
{
	struct timespec t = {.tv_sec = (time_t)(us / 1000000),
			     .tv_nsec = (long)(us % 1000000) * 1000};

	if (us)
		nanosleep(&t, NULL);
}

static void make_file(const char *name, uint64_t bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "%s", name);
	memset(buffer, 'c', sizeof(buffer));
	for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES) {
		uint64_t n = bytes - at < BUFFER_BYTES ? bytes - at : BUFFER_BYTES;

		if (write(fd, buffer, n) != (ssize_t)n)
			err(1, "%s", name);
	}
	if (fsync(fd))
		err(1, "%s", name);
	close(fd);
}

/* make F KIB */
static void step_make(const struct step *s)
{
	char directory[NAME_BYTES];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", s->file);
	slash = strrchr(directory, '/');
	if (slash) {
		*slash = '\0';
		(void)mkdir(directory, 0755);
	}
	make_file(s->file, s->number[0] * KIB);
}

/* sparse F KIB PARTS: one of so many parts has data, the rest is holes; 0: holes only */
static void step_sparse(const struct step *s)
{
	uint64_t end = s->number[0] * KIB;
	uint64_t parts = s->number[1];
	int fd;

	step_make(&(struct step){.verb = "make", .file = s->file, .number = {4}});
	fd = fd_of(s->file);
	for (uint64_t at = 0; parts && at < end; at += parts * SPARSE_BYTES)
		if (pwrite(fd, buffer, SPARSE_BYTES, (off_t)at) != SPARSE_BYTES)
			err(1, "%s", s->file);
	if (ftruncate(fd, (off_t)end) || fsync(fd))
		err(1, "%s", s->file);
}

static void file_name(const char *directory, uint64_t number, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%06llu", directory, (unsigned long long)number);
}

/* files D NR KIB */
static void step_files(const struct step *s)
{
	char name[NAME_BYTES];

	(void)mkdir(s->file, 0755);
	for (uint64_t i = 0; i < s->number[0]; i++) {
		file_name(s->file, i, name, sizeof(name));
		make_file(name, s->number[1] * KIB);
	}
}

/* seq F BLOCK_KIB [KIB] [THINK_US]: in order from the beginning; KIB 0: to the end */
static void step_seq(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t end = s->number[1] ? s->number[1] * KIB : size_of(fd);

	for (uint64_t at = 0; at < end; at += s->number[0] * KIB) {
		read_at(fd, at, s->number[0] * KIB);
		think(s->number[2]);
	}
}

/* back F BLOCK_KIB */
static void step_back(const struct step *s)
{
	int fd = fd_of(s->file);

	for (uint64_t at = size_of(fd); at >= s->number[0] * KIB;) {
		at -= s->number[0] * KIB;
		read_at(fd, at, s->number[0] * KIB);
	}
}

/* rand F BLOCK_KIB NR [THINK_US] */
static void step_rand(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t blocks = size_of(fd) / (s->number[0] * KIB);

	for (uint64_t i = 0; i < s->number[1]; i++) {
		read_at(fd, chance(blocks) * s->number[0] * KIB, s->number[0] * KIB);
		think(s->number[2]);
	}
}

/* records F HEADER_KIB BODY_KIB NR: at random places, two calls each */
static void step_records(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t head = s->number[0] * KIB, body = s->number[1] * KIB;
	uint64_t places = size_of(fd) / (32 * PAGE);

	for (uint64_t i = 0; i < s->number[2]; i++) {
		uint64_t at = chance(places) * 32 * PAGE;

		read_at(fd, at, head);
		read_at(fd, at + head, body);
	}
}

/* stride F PIECE_KIB STRIDE_KIB [BLOCK_KIB]: the beginning of each stride, in blocks */
static void step_stride(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t size = size_of(fd), piece = s->number[0] * KIB;
	uint64_t block = s->number[2] ? s->number[2] * KIB : piece;

	for (uint64_t at = 0; at < size; at += s->number[1] * KIB)
		for (uint64_t done = 0; done < piece; done += block)
			read_at(fd, at + done, block);
}

/* tiny F BYTES: in order, that many per call */
static void step_tiny(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t size = size_of(fd);

	for (uint64_t at = 0; at < size; at += s->number[0])
		read_at(fd, at, s->number[0]);
}

/* streams F NR BLOCK_KIB [DROP] [OWN] [THINK_US]: that many parts of the file in turns, through
 * one descriptor, or each through its own; dropped after each reader */
static void step_streams(const struct step *s)
{
	uint64_t nr = s->number[0], block = s->number[1] * KIB;
	uint64_t part = size_of(fd_of(s->file)) / nr;
	int fds[FILES_MAX];

	for (uint64_t i = 0; i < nr; i++)
		fds[i] = s->number[3] ? open(s->file, O_RDONLY | O_CLOEXEC) : fd_of(s->file);
	for (uint64_t at = 0; at < part; at += block)
		for (uint64_t i = 0; i < nr; i++) {
			read_at(fds[i], i * part + at, block);
			if (s->number[2])
				posix_fadvise(fds[i], (off_t)(i * part + at), (off_t)block,
					      POSIX_FADV_DONTNEED);
			think(s->number[4]);
		}
	for (uint64_t i = 0; s->number[3] && i < nr; i++)
		close(fds[i]);
}

/* map F NR ADVICE: NR random touches, 0: all pages in order; ADVICE as for madvise(2) */
static void step_map(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t size = size_of(fd), pages = size / PAGE, sum = 0;
	volatile char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		err(1, "mmap");
	if (s->number[1] && madvise((void *)map, size, (int)s->number[1]))
		err(1, "madvise");
	for (uint64_t i = 0; i < (s->number[0] ? s->number[0] : pages); i++)
		sum += (unsigned char)map[(s->number[0] ? chance(pages) : i) * PAGE];
	if (sum == 1)
		puts("");
	munmap((void *)map, size);
}

/* hold F: maps the whole file, touches it, and leaves it mapped */
static void step_hold(const struct step *s)
{
	int fd = fd_of(s->file);

	if (mmap(NULL, size_of(fd), PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) == MAP_FAILED)
		err(1, "mmap");
}

/* advise F ADVICE [FROM_KIB] [KIB] [PIECE_KIB]: posix_fadvise(), in pieces if a size is given */
static void step_advise(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t from = s->number[1] * KIB, piece = s->number[3] * KIB;
	uint64_t end = s->number[2] ? from + s->number[2] * KIB : size_of(fd);

	if (!piece) {
		posix_fadvise(fd, (off_t)from, (off_t)(s->number[2] * KIB), (int)s->number[0]);
		return;
	}
	for (uint64_t at = from; at < end; at += piece)
		posix_fadvise(fd, (off_t)at, (off_t)piece, (int)s->number[0]);
}

/* readahead F: readahead(2) over the whole file */
static void step_readahead(const struct step *s)
{
	int fd = fd_of(s->file);

	if (readahead(fd, 0, size_of(fd)))
		err(1, "readahead");
}

/* ahead F AHEAD_KIB BLOCK_KIB THINK_US: in order, with WILLNEED that far ahead of the reader */
static void step_ahead(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t size = size_of(fd), block = s->number[1] * KIB;

	for (uint64_t at = 0; at < s->number[0] * KIB; at += block)
		posix_fadvise(fd, (off_t)at, (off_t)block, POSIX_FADV_WILLNEED);
	for (uint64_t at = 0; at < size; at += block) {
		posix_fadvise(fd, (off_t)(at + s->number[0] * KIB), (off_t)block,
			      POSIX_FADV_WILLNEED);
		read_at(fd, at, block);
		think(s->number[2]);
	}
}

/* once F BLOCK_KIB TIMES DROP THINK_US: in order, each block read that often, dropped after the
 * reader */
static void step_once(const struct step *s)
{
	int fd = fd_of(s->file);
	uint64_t size = size_of(fd), block = s->number[0] * KIB;

	for (uint64_t at = 0; at < size; at += block) {
		for (uint64_t i = 0; i < (s->number[1] ? s->number[1] : 1); i++)
			read_at(fd, at, block);
		if (s->number[2])
			posix_fadvise(fd, 0, (off_t)(at + block), POSIX_FADV_DONTNEED);
		think(s->number[3]);
	}
}

/* write F KIB DROP: 0: stays; 1: written back and dropped in pieces of 4 MiB; 2: dropped while
 * dirty */
static void step_write(const struct step *s)
{
	int fd = open(s->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "%s", s->file);
	for (uint64_t at = 0; at < s->number[0] * KIB; at += BUFFER_BYTES) {
		if (write(fd, buffer, BUFFER_BYTES) != BUFFER_BYTES)
			err(1, "%s", s->file);
		if (s->number[1] == 1 && fdatasync(fd))
			err(1, "fdatasync");
		if (s->number[1] == 1)
			posix_fadvise(fd, (off_t)at, BUFFER_BYTES, POSIX_FADV_DONTNEED);
	}
	if (s->number[1] == 2)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* direct F BLOCK_KIB */
static void step_direct(const struct step *s)
{
	int fd = open(s->file, O_RDONLY | O_DIRECT | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		err(1, "%s", s->file);
	while (n > 0)
		n = read(fd, buffer, s->number[0] * KIB);
	if (n < 0)
		err(1, "%s", s->file);
	close(fd);
}

/* each D NR KIB SHUFFLE WHAT THINK_US: the first KIB of each file (0: all), in blocks of 128 KiB.
 * WHAT 0: read; 1: read and drop; 2: WILLNEED only; 3: WILLNEED, then read */
static void step_each(const struct step *s)
{
	uint64_t nr = s->number[0], *order = calloc(nr, sizeof(*order));
	char name[NAME_BYTES];

	if (!order)
		err(1, "files");
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t j = s->number[2] ? chance(i + 1) : i;

		order[i] = order[j];
		order[j] = i;
	}
	for (uint64_t i = 0; i < nr; i++) {
		int fd;
		uint64_t end;

		file_name(s->file, order[i], name, sizeof(name));
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			err(1, "%s", name);
		end = s->number[1] ? s->number[1] * KIB : size_of(fd);
		if (s->number[3] >= 2)
			posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
		for (uint64_t at = 0; s->number[3] != 2 && at < end; at += 128 * KIB)
			read_at(fd, at, end - at < 128 * KIB ? end - at : 128 * KIB);
		if (s->number[3] == 1)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
		think(s->number[4]);
	}
	free(order);
}

static const struct {
	const char *verb;
	void (*perform)(const struct step *s);
} verbs[] = {
	{"make", step_make},
	{"sparse", step_sparse},
	{"files", step_files},
	{"seq", step_seq},
	{"back", step_back},
	{"rand", step_rand},
	{"records", step_records},
	{"stride", step_stride},
	{"tiny", step_tiny},
	{"streams", step_streams},
	{"map", step_map},
	{"advise", step_advise},
	{"readahead", step_readahead},
	{"ahead", step_ahead},
	{"once", step_once},
	{"write", step_write},
	{"direct", step_direct},
	{"each", step_each},
	{"hold", step_hold},
};

void step_perform(const struct step *s)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(s->verb, verbs[i].verb)) {
			verbs[i].perform(s);
			return;
		}
	errx(2, "%s: no such step", s->verb);
}
