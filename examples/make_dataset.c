// SPDX-License-Identifier: BSD-2-Clause
/*
 * make_dataset DIR: writes the dataset of train_loader into DIR and drops its pages from the page
 * cache, file by file, so that the first epoch is cold and other cached files stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset.h"

static unsigned char block[MIB];

static int fail(const char *what, const char *path)
{
	fprintf(stderr, "make_dataset: cannot %s %s: %s\n", what, path, strerror(errno));
	return -1;
}

/* Content that no filesystem can compress or store as a hole. */
static void fill(uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + 1;

	for (size_t i = 0; i < sizeof(block); i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(block + i, &x, sizeof(x));
	}
}

static int write_file(const char *path, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), ret = 0;

	if (fd < 0)
		return fail("create", path);
	for (size_t at = 0; at < bytes && !ret; at += sizeof(block)) {
		errno = ENOSPC; /* a short write sets no errno */
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			ret = fail("write", path);
	}
	if (close(fd) && !ret)
		ret = fail("close", path);
	return ret;
}

/* Drops the file's pages; adds the remaining ones to *stay. */
static int drop_file(const char *path, size_t bytes, size_t *stay)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), nr = bytes / page;
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = -1;
	unsigned char *in_core = malloc(nr);
	void *map = MAP_FAILED;

	if (fd < 0 || !in_core) {
		fail("open", path);
		goto out;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || mincore(map, bytes, in_core)) {
		fail("look at the pages of", path);
		goto out;
	}
	for (size_t i = 0; i < nr; i++)
		*stay += in_core[i] & 1;
	ret = 0;
out:
	if (map != MAP_FAILED)
		munmap(map, bytes);
	free(in_core);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* stay NULL: write the file; else drop it. */
static int visit(const char *path, size_t bytes, size_t *stay)
{
	return stay ? drop_file(path, bytes, stay) : write_file(path, bytes);
}

static int visit_all(size_t *stay)
{
	static const struct {
		const char *path;
		size_t bytes;
	} single[] = {
		{VALIDATION_PATH, VALIDATION_BYTES},
		{FEATURES_PATH, FEATURES_BYTES},
		{ADVISED_PATH, FEATURES_BYTES},
		{TOKENS_PATH, TOKENS_BYTES},
	};
	char path[PATH_MAX_BYTES];

	for (int i = 0; i < NR_SAMPLES; i++) {
		snprintf(path, sizeof(path), SAMPLE_PATH, i % NR_CLASSES, i / NR_CLASSES);
		if (!stay)
			fill((uint64_t)i + 1);
		if (visit(path, SAMPLE_BYTES, stay))
			return -1;
	}
	for (int i = 0; i < NR_SHARDS; i++) {
		snprintf(path, sizeof(path), SHARD_PATH, i);
		if (visit(path, SHARD_BYTES, stay))
			return -1;
	}
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (visit(single[i].path, single[i].bytes, stay))
			return -1;
	return 0;
}

static int make_directories(void)
{
	static const char *const names[] = {"train",  "validation", "features",
					    "tokens", "shards",	    "checkpoints"};
	char path[PATH_MAX_BYTES];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (mkdir(names[i], 0755) && errno != EEXIST)
			return fail("create", names[i]);
	for (int i = 0; i < NR_CLASSES; i++) {
		snprintf(path, sizeof(path), "train/class-%d", i);
		if (mkdir(path, 0755) && errno != EEXIST)
			return fail("create", path);
	}
	return 0;
}

int main(int argc, char **argv)
{
	size_t stay = 0;
	int dir;

	if (argc != 2) {
		fputs("usage: make_dataset DIR\n", stderr);
		return 2;
	}
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fchdir(dir))
		return fail("enter", argv[1]) ? 1 : 0;
	if (make_directories() || visit_all(NULL))
		return 1;
	/* A dirty page cannot be dropped. */
	if (syncfs(dir))
		return fail("sync", argv[1]) ? 1 : 0;
	if (visit_all(&stay))
		return 1;
	if (stay)
		fprintf(stderr,
			"make_dataset: %zu pages stayed cached; the first epoch is not "
			"quite cold\n",
			stay);
	return 0;
}
