// SPDX-License-Identifier: BSD-2-Clause
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "op.h"

struct opener opener_open(struct oracle *o, int flags)
{
	struct opener s = {.o = o, .null = open("/dev/null", O_WRONLY | O_CLOEXEC), .sink = -1};
	/* So that thousands of small files do not need thousands of large buffers. */
	size_t bytes = o->size_bytes < BUFFER_SMALL ? BUFFER_SMALL : BUFFER_BYTES;

	s.buf_bytes = bytes;

	s.fd = open(o->path, flags | O_CLOEXEC);
	s.buf = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (s.fd < 0 || s.null < 0 || pipe2(s.pipe, O_CLOEXEC))
		err(1, "%s", o->path);
	if (s.buf == MAP_FAILED || !oracle_may_go_on(mlock(s.buf, bytes)))
		err(1, "buffer");
	memset(s.buf, 'w', bytes);
	return s;
}

void opener_close(struct opener *s)
{
	op_async_close(s);
	op_short_close(s);
	munmap(s->buf, s->buf_bytes);
	close(s->fd);
	close(s->null);
	if (s->sink >= 0)
		close(s->sink);
	close(s->pipe[0]);
	close(s->pipe[1]);
}

_Noreturn void op_lacking(const char *what, int error)
{
	fprintf(stderr, "lacking: %s: %s\n", what, strerror(error));
	exit(EXIT_LACKING);
}

static bool lacking(int error)
{
	return error == ENOSYS || error == EOPNOTSUPP;
}

/* Fails unless the whole range was read: otherwise the expectation would be a guess. */
static uint64_t full_length(const struct oracle *o, uint64_t offset, uint64_t length)
{
	if (offset >= o->size_bytes)
		return 0;
	return length < o->size_bytes - offset ? length : o->size_bytes - offset;
}

void op_count(struct oracle *o, uint64_t offset, uint64_t length)
{
	struct op op = {.offset = offset, .length = length};
	uint64_t first, last;

	if (!oracle_range(o, &op, &first, &last))
		return;
	o->f[F_read_calls]++;
	o->f[F_read_bytes] += full_length(o, offset, length);
	o->f[F_lookups] += last - first + 1;
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t op_try(struct opener *s, op_reader *fn, uint64_t offset, uint64_t length)
{
	/* mincore(2) waits for the device, which completes the read. The result of the call must
	 * be known before that; it is once the task sleeps. */
	struct timespec nap = {.tv_nsec = looks_see_flight() ? 0 : 200000};
	struct op op = {.kind = OP_READ, .offset = offset, .length = length};

	oracle_before(s->o, &op);
	s->call_ns -= now_ns();
	op.returned = fn(s, offset, length);
	s->call_ns += now_ns();
	if (nap.tv_nsec)
		nanosleep(&nap, NULL);
	oracle_after(s->o, &op);
	return op.returned;
}

void op_read(struct opener *s, op_reader *fn, uint64_t offset, uint64_t length)
{
	uint64_t returned = op_try(s, fn, offset, length);

	if (returned != full_length(s->o, offset, length))
		errx(1, "%s: short read of %llu at %llu: %llu", s->o->path,
		     (unsigned long long)length, (unsigned long long)offset,
		     (unsigned long long)returned);
}

void op_read_all(struct opener *s, op_reader *fn, uint64_t offset, uint64_t end, uint64_t step)
{
	for (; offset < end; offset += step)
		op_read(s, fn, offset, step < end - offset ? step : end - offset);
}

static uint64_t got(ssize_t n, const char *call)
{
	if (n < 0 && lacking(errno))
		op_lacking(call, errno);
	if (n < 0)
		err(1, "%s", call);
	return (uint64_t)n;
}

uint64_t op_pread(struct opener *s, uint64_t offset, uint64_t length)
{
	return got(pread(s->fd, s->buf, length, (off_t)offset), "pread");
}

uint64_t op_seek_read(struct opener *s, uint64_t offset, uint64_t length)
{
	if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
		err(1, "lseek");
	return got(read(s->fd, s->buf, length), "read");
}

/* Three pieces of odd sizes. */
static int pieces(struct opener *s, uint64_t length, struct iovec iov[3])
{
	uint64_t a = length / 3, b = length / 5;

	iov[0] = (struct iovec){s->buf, a};
	iov[1] = (struct iovec){(char *)s->buf + a, b};
	iov[2] = (struct iovec){(char *)s->buf + a + b, length - a - b};
	return 3;
}

uint64_t op_readv(struct opener *s, uint64_t offset, uint64_t length)
{
	struct iovec iov[3];

	if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
		err(1, "lseek");
	return got(readv(s->fd, iov, pieces(s, length, iov)), "readv");
}

uint64_t op_preadv(struct opener *s, uint64_t offset, uint64_t length)
{
	struct iovec iov[3];

	return got(preadv(s->fd, iov, pieces(s, length, iov), (off_t)offset), "preadv");
}

uint64_t op_preadv2(struct opener *s, uint64_t offset, uint64_t length)
{
	struct iovec iov[3];

	return got(preadv2(s->fd, iov, pieces(s, length, iov), (off_t)offset, 0), "preadv2");
}

uint64_t op_sendfile(struct opener *s, uint64_t offset, uint64_t length)
{
	off_t at = (off_t)offset;

	return got(sendfile(s->null, s->fd, &at, length), "sendfile");
}

/* On the same filesystem: to another one the call is refused. */
static int sink_open(const char *path)
{
	char copy[512];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EOPNOTSUPP)
		op_lacking("no file without a name to copy to", errno);
	if (fd < 0)
		err(1, "a file beside %s", path);
	return fd;
}

/* To an odd offset, so that no filesystem shares blocks instead of reading them. */
uint64_t op_copy(struct opener *s, uint64_t offset, uint64_t length)
{
	off64_t from = (off64_t)offset, to = 1;

	if (s->sink < 0)
		s->sink = sink_open(s->o->path);
	return got(copy_file_range(s->fd, &from, s->sink, &to, length, 0), "copy_file_range");
}

/* length must fit into the pipe, so that the requested range equals the range that is looked up. */
uint64_t op_splice(struct opener *s, uint64_t offset, uint64_t length)
{
	off64_t at = (off64_t)offset;
	uint64_t n = got(splice(s->fd, &at, s->pipe[1], NULL, length, 0), "splice");

	for (uint64_t out = 0; out < n;)
		out += got(splice(s->pipe[0], NULL, s->null, NULL, n - out, 0), "splice out");
	return n;
}

void op_read_batch(struct opener *s, op_batch *fn, const uint64_t *offsets, unsigned int nr,
		   uint64_t length)
{
	struct op op = {.kind = OP_OVERLAP};
	struct oracle *o = s->o;

	oracle_before(o, &op);
	fn(s, offsets, nr, length);
	oracle_after(o, &op);
	for (unsigned int i = 0; i < nr; i++)
		op_count(o, offsets[i], length);
}
