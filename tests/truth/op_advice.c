// SPDX-License-Identifier: BSD-2-Clause
/* Operations that bring or drop pages without reading them; writes, direct I/O, touches. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "op.h"

void op_willneed(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_BRING, .figure = F_willneed};

	oracle_before(s->o, &op);
	errno = posix_fadvise(s->fd, (off_t)offset, (off_t)length, POSIX_FADV_WILLNEED);
	if (errno)
		err(1, "fadvise WILLNEED");
	oracle_after(s->o, &op);
}

void op_willneed_then(struct opener *s, uint64_t end, uint64_t step, void (*end_fn)(void *),
		      void *argument)
{
	struct op op = {.kind = OP_BRING, .figure = F_willneed};

	oracle_before(s->o, &op);
	for (uint64_t at = 0; at < end; at += step) {
		errno = posix_fadvise(s->fd, (off_t)at, (off_t)step, POSIX_FADV_WILLNEED);
		if (errno)
			err(1, "fadvise WILLNEED");
	}
	end_fn(argument);
	oracle_after(s->o, &op);
}

void op_readahead(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_BRING, .figure = F_readahead2};

	oracle_before(s->o, &op);
	if (readahead(s->fd, (off64_t)offset, length))
		err(1, "readahead");
	oracle_after(s->o, &op);
}

void op_madvise_willneed(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_BRING, .figure = F_willneed};
	void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, s->fd, (off_t)offset);

	if (map == MAP_FAILED)
		err(1, "mmap");
	oracle_before(s->o, &op);
	if (madvise(map, length, MADV_WILLNEED))
		err(1, "madvise WILLNEED");
	oracle_after(s->o, &op);
	munmap(map, length);
}

void op_dontneed(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_DROP, .figure = F_evicted_dontneed};

	oracle_before(s->o, &op);
	errno = posix_fadvise(s->fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);
	if (errno)
		err(1, "fadvise DONTNEED");
	oracle_after(s->o, &op);
}

void op_drop_caches(struct opener *s)
{
	struct op op = {.kind = OP_DROP, .figure = F_evicted_drop_caches};
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		err(1, "drop_caches");
	oracle_before(s->o, &op);
	if (write(fd, "1", 1) != 1)
		err(1, "drop_caches");
	oracle_after(s->o, &op);
	close(fd);
}

void op_truncate(struct opener *s, uint64_t size)
{
	struct op op = {.kind = OP_DROP, .figure = F_evicted_truncate};

	oracle_before(s->o, &op);
	if (ftruncate(s->fd, (off_t)size))
		err(1, "ftruncate");
	oracle_after(s->o, &op);
}

static uint64_t write_all(struct opener *s, uint64_t offset, uint64_t length)
{
	ssize_t n = pwrite(s->fd, s->buf, length, (off_t)offset);

	if (n != (ssize_t)length)
		err(1, "pwrite");
	return length;
}

void op_write(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_WRITE, .offset = offset, .length = length};

	oracle_before(s->o, &op);
	op.returned = write_all(s, offset, length);
	oracle_after(s->o, &op);
}

void op_direct_read(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_DIRECT, .figure = F_direct_read_bytes};
	ssize_t n;

	oracle_before(s->o, &op);
	n = pread(s->fd, s->buf, length, (off_t)offset);
	if (n < 0)
		err(1, "direct pread");
	op.returned = (uint64_t)n;
	oracle_after(s->o, &op);
}

void op_direct_write(struct opener *s, uint64_t offset, uint64_t length)
{
	struct op op = {.kind = OP_DIRECT, .figure = F_evicted_direct_io};

	oracle_before(s->o, &op);
	op.returned = write_all(s, offset, length);
	oracle_after(s->o, &op);
}

void op_touch(struct opener *s, const volatile char *map, uint64_t page)
{
	struct op op = {.kind = OP_TOUCH, .offset = page * PAGE_BYTES, .length = 1};
	struct rusage before, after;

	oracle_before(s->o, &op);
	getrusage(RUSAGE_THREAD, &before);
	(void)map[page * PAGE_BYTES];
	getrusage(RUSAGE_THREAD, &after);
	oracle_after(s->o, &op);
	s->o->f[F_major] += (uint64_t)(after.ru_majflt - before.ru_majflt);
}
