/* SPDX-License-Identifier: BSD-2-Clause */
#include "hotfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define PAGE 4096u

void hotfile_make(const char *dir, uint64_t bytes, struct hotfile *ret)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	static char block[1 << 20];

	setrlimit(RLIMIT_MEMLOCK, &all);
	ret->bytes = bytes;
	ret->seed = HOTFILE_SEED;
	ret->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (ret->fd < 0)
		bench_fail("cannot make a file in %s: %s. Choose another --dir", dir,
			   strerror(errno));
	memset(block, 1, sizeof(block));
	for (uint64_t at = 0; at < bytes; at += sizeof(block))
		if (write(ret->fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			bench_fail("cannot fill a file of %lu MiB in %s: %s",
				   (unsigned long)(bytes >> 20), dir, strerror(errno));
	/* Clean pages, added by reads like those of a dataset. */
	if (fsync(ret->fd) || posix_fadvise(ret->fd, 0, 0, POSIX_FADV_DONTNEED))
		bench_fail("cannot write the file back: %s", strerror(errno));
	for (uint64_t at = 0; at < bytes; at += sizeof(block))
		if (pread(ret->fd, block, sizeof(block), (off_t)at) != (ssize_t)sizeof(block))
			bench_fail("cannot read the file: %s", strerror(errno));
	ret->map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, ret->fd, 0);
	if (ret->map == MAP_FAILED || mlock(ret->map, bytes))
		bench_fail("cannot lock %lu MiB in memory: %s. Choose a smaller --file-mib",
			   (unsigned long)(bytes >> 20), strerror(errno));
	if (hotfile_missing(ret))
		bench_fail("%lu pages of a locked file are not in the cache",
			   (unsigned long)hotfile_missing(ret));
}

void hotfile_open(const char *path, struct hotfile *ret)
{
	struct stat st;

	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->fd < 0 || fstat(ret->fd, &st))
		bench_fail("cannot open %s: %s", path, strerror(errno));
	ret->bytes = (uint64_t)st.st_size;
	ret->seed = HOTFILE_SEED;
	ret->map = mmap(NULL, ret->bytes, PROT_READ, MAP_SHARED, ret->fd, 0);
	if (ret->map == MAP_FAILED)
		bench_fail("cannot map %s: %s", path, strerror(errno));
	if (hotfile_missing(ret))
		bench_fail("%lu pages of %s are not in the cache",
			   (unsigned long)hotfile_missing(ret), path);
}

uint64_t hotfile_missing(const struct hotfile *f)
{
	uint64_t pages = f->bytes / PAGE, missing = 0;
	unsigned char *in = calloc(pages + 1, 1);

	if (!in || mincore(f->map, f->bytes, in))
		bench_fail("cannot ask what is in the cache: %s", strerror(errno));
	for (uint64_t i = 0; i < pages; i++)
		missing += !(in[i] & 1);
	free(in);
	return missing;
}

int hotfile_read(struct hotfile *f, long n)
{
	uint64_t pages = f->bytes / PAGE, x = f->seed;
	char buf[PAGE];

	for (long i = 0; i < n; i++) {
		/* xorshift: cheap compared with a system call. */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (pread(f->fd, buf, PAGE, (off_t)(x % pages * PAGE)) != PAGE)
			return errno ? -errno : -EIO;
	}
	f->seed = x;
	return 0;
}

void hotfile_free(struct hotfile *f)
{
	munmap(f->map, f->bytes);
	close(f->fd);
}
