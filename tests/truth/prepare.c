// SPDX-License-Identifier: BSD-2-Clause
/* Makes the files of a setup, before the watch. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wl.h"

#define BLOCK	     (1 << 20)
#define BIG_PERCENT  30
#define MEDIUM_BYTES (64ULL << 20)
#define DROP_TRIES   100

void small_name(const char *dir, unsigned int n, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%s/d%02u/f%03u", dir, n / SMALL_PER_DIRECTORY,
		 n % SMALL_PER_DIRECTORY);
}

/* At first, dirty pages and pages in flight stay. */
static void make_cold(int fd, const char *path, uint64_t size)
{
	uint64_t pages = (size + PAGE_BYTES - 1) / PAGE_BYTES;

	for (int i = 0; pages && scan_count(fd, pages); i++) {
		if (i == DROP_TRIES)
			errx(1, "%s: its pages do not leave the cache", path);
		if (i && fsync(fd))
			err(1, "%s", path);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
}

static void write_file(const char *path, uint64_t size, bool holes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char *block = malloc(BLOCK);
	unsigned int word = 2463534242U;

	if (fd < 0 || !block)
		err(1, "%s", path);
	for (size_t i = 0; i < BLOCK; i++) {
		word ^= word << 13, word ^= word >> 17, word ^= word << 5;
		block[i] = (char)word;
	}
	if (holes && ftruncate(fd, (off_t)size))
		err(1, "%s", path);
	for (uint64_t at = 0; at < size;) {
		uint64_t step = holes ? 40960 : BLOCK, n = size - at < step ? size - at : step;
		bool write = !holes || at / step % 2;

		if (write && pwrite(fd, block, n, (off_t)at) != (ssize_t)n)
			err(1, "%s", path);
		at += n;
	}
	free(block);
	close(fd);
}

static void settle_file(const char *path, bool warm)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *block = malloc(BLOCK);
	struct stat st;

	if (fd < 0 || !block || fstat(fd, &st))
		err(1, "%s", path);
	make_cold(fd, path, (uint64_t)st.st_size);
	for (off_t at = 0; warm && at < st.st_size; at += BLOCK)
		if (pread(fd, block, BLOCK, at) < 0)
			err(1, "%s", path);
	free(block);
	close(fd);
}

static void make_small(const char *dir)
{
	char name[512];

	if (mkdir(dir, 0755) && errno != EEXIST)
		err(1, "%s", dir);
	for (unsigned int i = 0; i < SMALL_DIRECTORIES; i++) {
		snprintf(name, sizeof(name), "%s/d%02u", dir, i);
		if (mkdir(name, 0755) && errno != EEXIST)
			err(1, "%s", name);
	}
	for (unsigned int i = 0; i < SMALL_DIRECTORIES * SMALL_PER_DIRECTORY; i++) {
		small_name(dir, i, name, sizeof(name));
		write_file(name, 1 + (uint64_t)i * 7919 % 60000, false);
	}
	sync(); /* once, not 3,000 times */
	for (unsigned int i = 0; i < SMALL_DIRECTORIES * SMALL_PER_DIRECTORY; i++) {
		small_name(dir, i, name, sizeof(name));
		settle_file(name, false);
	}
}

static void make_hole(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || ftruncate(fd, (off_t)size) || fsync(fd))
		err(1, "%s", path);
	close(fd);
}

void prepare(enum setup setup, const char *path)
{
	unsigned int files = setup == SETUP_many ? 4 : setup == SETUP_medium ? 2 : 1;
	uint64_t size = setup == SETUP_medium ? MEDIUM_BYTES : FILE_BYTES;
	struct wl w = {.path = path};
	char name[512];

	if (setup == SETUP_small) {
		make_small(path);
		return;
	}
	if (setup == SETUP_big) {
		make_hole(path, (uint64_t)sysconf(_SC_PHYS_PAGES) * BIG_PERCENT / 100 * PAGE_BYTES);
		return;
	}
	for (unsigned int n = 0; n < files; n++) {
		wl_file_name(&w, n, name, sizeof(name));
		write_file(name, size, setup == SETUP_sparse);
		settle_file(name, setup == SETUP_warm);
	}
}
