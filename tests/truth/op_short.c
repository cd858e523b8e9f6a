// SPDX-License-Identifier: BSD-2-Clause
/* Read calls that fail or return less than requested. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "op.h"

#define SOCKET_BYTES (16 << 10)
#define COPY_LIMIT   50000

/* A socket and a pipe that only op_drain() empties, and memory that cannot be written. */
struct outlet {
	int socket[2];
	int pipe[2];
	void *hole;
};

static struct outlet *outlet(struct opener *s)
{
	int bytes = SOCKET_BYTES;
	struct outlet *t;

	if (s->outlet)
		return s->outlet;
	t = calloc(1, sizeof(*t));
	if (!t || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, t->socket) ||
	    setsockopt(t->socket[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) ||
	    pipe2(t->pipe, O_NONBLOCK | O_CLOEXEC))
		err(1, "outlets");
	t->hole = mmap(NULL, BUFFER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->hole == MAP_FAILED)
		err(1, "hole");
	s->outlet = t;
	return t;
}

/* The result of a call that may fail only for this reason. */
static uint64_t got_or(ssize_t n, int error, const char *call)
{
	if (n < 0 && errno == EOPNOTSUPP)
		op_lacking(call, errno);
	if (n < 0 && errno != error)
		err(1, "%s", call);
	return n < 0 ? 0 : (uint64_t)n;
}

/* Reads what is cached, without waiting. */
uint64_t op_nowait(struct opener *s, uint64_t offset, uint64_t length)
{
	struct iovec iov = {s->buf, length};

	return got_or(preadv2(s->fd, &iov, 1, (off_t)offset, RWF_NOWAIT), EAGAIN, "RWF_NOWAIT");
}

uint64_t op_bad_pread(struct opener *s, uint64_t offset, uint64_t length)
{
	return got_or(pread(s->fd, outlet(s)->hole, length, (off_t)offset), EFAULT, "pread");
}

uint64_t op_bad_read(struct opener *s, uint64_t offset, uint64_t length)
{
	if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
		err(1, "lseek");
	return got_or(read(s->fd, outlet(s)->hole, length), EFAULT, "read");
}

/* Only its first half can be written. */
uint64_t op_bad_readv(struct opener *s, uint64_t offset, uint64_t length)
{
	struct iovec iov[2] = {{s->buf, length / 2}, {outlet(s)->hole, length - length / 2}};

	return got_or(preadv(s->fd, iov, 2, (off_t)offset), EFAULT, "preadv");
}

uint64_t op_send_socket(struct opener *s, uint64_t offset, uint64_t length)
{
	off_t at = (off_t)offset;

	return got_or(sendfile(outlet(s)->socket[0], s->fd, &at, length), EAGAIN, "sendfile");
}

uint64_t op_send_pipe(struct opener *s, uint64_t offset, uint64_t length)
{
	off_t at = (off_t)offset;

	return got_or(sendfile(outlet(s)->pipe[1], s->fd, &at, length), EAGAIN, "sendfile");
}

/* No file may exceed the limit. */
uint64_t op_copy_limited(struct opener *s, uint64_t offset, uint64_t length)
{
	struct rlimit was, limit;
	uint64_t n;

	if (getrlimit(RLIMIT_FSIZE, &was) || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		err(1, "RLIMIT_FSIZE");
	limit = was;
	limit.rlim_cur = COPY_LIMIT;
	if (setrlimit(RLIMIT_FSIZE, &limit))
		err(1, "RLIMIT_FSIZE");
	n = op_copy(s, offset, length);
	if (setrlimit(RLIMIT_FSIZE, &was))
		err(1, "RLIMIT_FSIZE");
	return n;
}

void op_drain(struct opener *s, bool by_read)
{
	struct outlet *t = outlet(s);
	ssize_t n;

	n = by_read ? read(t->socket[1], s->buf, 5000) : recv(t->socket[1], s->buf, 5000, 0);
	if (n < 0 && errno != EAGAIN)
		err(1, "socket");
	if (by_read)
		n = read(t->pipe[0], s->buf, 30000);
	else
		n = splice(t->pipe[0], NULL, s->null, NULL, 30000, SPLICE_F_NONBLOCK);
	if (n < 0 && errno != EAGAIN)
		err(1, "pipe");
}

void op_short_close(struct opener *s)
{
	struct outlet *t = s->outlet;

	if (!t)
		return;
	munmap(t->hole, BUFFER_BYTES);
	for (int i = 0; i < 2; i++) {
		close(t->socket[i]);
		close(t->pipe[i]);
	}
	free(t);
	s->outlet = NULL;
}
