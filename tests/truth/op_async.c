// SPDX-License-Identifier: BSD-2-Clause
/* Reads through io_uring and Linux AIO. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "op.h"

#define DEPTH 8

struct uring {
	struct io_uring ring;
	struct io_uring_probe *probe;
	bool registered; /* the file and the buffer have the number 0 */
};

struct aio {
	io_context_t ctx;
};

static struct io_uring *ring(struct opener *s)
{
	int ret;

	if (s->uring)
		return &s->uring->ring;
	s->uring = calloc(1, sizeof(*s->uring));
	if (!s->uring)
		err(1, "io_uring");
	ret = io_uring_queue_init(DEPTH, &s->uring->ring, 0);
	if (ret == -ENOSYS || ret == -EPERM)
		op_lacking("io_uring_queue_init", -ret);
	if (ret)
		errx(1, "io_uring_queue_init: %s", strerror(-ret));
	s->uring->probe = io_uring_get_probe_ring(&s->uring->ring);
	return &s->uring->ring;
}

/* The ring, if its kernel supports the operation. */
static struct io_uring *ring_for(struct opener *s, int operation)
{
	struct io_uring *r = ring(s);

	if (!s->uring->probe || !io_uring_opcode_supported(s->uring->probe, operation))
		op_lacking("this operation of io_uring", EOPNOTSUPP);
	return r;
}

/* Submits what is queued, waits for all of it, returns the sum of the results. */
static uint64_t ring_run(struct io_uring *r, unsigned int nr)
{
	struct io_uring_cqe *cqe;
	uint64_t sum = 0;
	int ret = io_uring_submit(r);

	if (ret != (int)nr)
		errx(1, "io_uring_submit: %d of %u", ret, nr);
	while (nr--) {
		ret = io_uring_wait_cqe(r, &cqe);
		if (ret || cqe->res < 0)
			errx(1, "io_uring: %s", strerror(ret ? -ret : -cqe->res));
		sum += (uint64_t)cqe->res;
		io_uring_cqe_seen(r, cqe);
	}
	return sum;
}

static uint64_t ring_read(struct opener *s, uint64_t offset, uint64_t length, unsigned int flags)
{
	struct io_uring *r = ring_for(s, IORING_OP_READ);
	struct io_uring_sqe *sqe = io_uring_get_sqe(r);

	io_uring_prep_read(sqe, s->fd, s->buf, (unsigned int)length, offset);
	io_uring_sqe_set_flags(sqe, flags);
	return ring_run(r, 1);
}

uint64_t op_uring(struct opener *s, uint64_t offset, uint64_t length)
{
	return ring_read(s, offset, length, 0);
}

uint64_t op_uring_readv(struct opener *s, uint64_t offset, uint64_t length)
{
	struct io_uring *r = ring_for(s, IORING_OP_READV);
	struct iovec iov[2] = {{s->buf, length / 3},
			       {(char *)s->buf + length / 3, length - length / 3}};

	io_uring_prep_readv(io_uring_get_sqe(r), s->fd, iov, 2, offset);
	return ring_run(r, 1);
}

/* At the descriptor's own position. */
uint64_t op_uring_here(struct opener *s, uint64_t offset, uint64_t length)
{
	if (!(ring(s)->features & IORING_FEAT_RW_CUR_POS))
		op_lacking("io_uring from the current position", EOPNOTSUPP);
	if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
		err(1, "lseek");
	return ring_read(s, ~0ULL, length, 0);
}

/* From a registered file into a registered buffer. */
uint64_t op_uring_fixed(struct opener *s, uint64_t offset, uint64_t length)
{
	struct iovec iov = {s->buf, s->buf_bytes};
	struct io_uring *r = ring_for(s, IORING_OP_READ_FIXED);
	struct io_uring_sqe *sqe;

	if (!s->uring->registered &&
	    (io_uring_register_files(r, &s->fd, 1) || io_uring_register_buffers(r, &iov, 1)))
		errx(1, "io_uring_register");
	s->uring->registered = true;
	sqe = io_uring_get_sqe(r);
	io_uring_prep_read_fixed(sqe, 0, s->buf, (unsigned int)length, offset, 0);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	return ring_run(r, 1);
}

/* Waits for its end without a system call: the completion runs when an interrupt ends. */
uint64_t op_uring_polled(struct opener *s, uint64_t offset, uint64_t length)
{
	struct io_uring *r = ring_for(s, IORING_OP_READ);
	struct io_uring_cqe *cqe;
	uint64_t ret;

	io_uring_prep_read(io_uring_get_sqe(r), s->fd, s->buf, (unsigned int)length, offset);
	if (io_uring_submit(r) != 1)
		errx(1, "io_uring_submit");
	while (io_uring_peek_cqe(r, &cqe))
		;
	if (cqe->res < 0)
		errx(1, "io_uring: %s", strerror(-cqe->res));
	ret = (uint64_t)cqe->res;
	io_uring_cqe_seen(r, cqe);
	return ret;
}

/* The read runs in a kernel worker thread of the process. */
uint64_t op_uring_worker(struct opener *s, uint64_t offset, uint64_t length)
{
	return ring_read(s, offset, length, IOSQE_ASYNC);
}

/* The write runs in such a worker, or in io_submit() itself. With O_DSYNC it waits for the
 * device. */
void op_uring_write(struct opener *s, uint64_t offset, uint64_t length)
{
	struct io_uring *r = ring_for(s, IORING_OP_WRITE);
	struct io_uring_sqe *sqe = io_uring_get_sqe(r);

	io_uring_prep_write(sqe, s->fd, s->buf, (unsigned int)length, offset);
	io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	ring_run(r, 1);
}

/* Through a pipe; in a worker. */
uint64_t op_uring_splice(struct opener *s, uint64_t offset, uint64_t length)
{
	struct io_uring *r = ring_for(s, IORING_OP_SPLICE);
	uint64_t n, out = 0;
	ssize_t got;

	io_uring_prep_splice(io_uring_get_sqe(r), s->fd, (int64_t)offset, s->pipe[1], -1,
			     (unsigned int)length, 0);
	n = ring_run(r, 1);
	for (; out < n; out += (uint64_t)got) {
		got = splice(s->pipe[0], NULL, s->null, NULL, n - out, 0);
		if (got < 0)
			err(1, "splice");
	}
	return n;
}

/* A wait in the ring without a read. */
void op_uring_sleep(struct opener *s, uint64_t ns)
{
	struct __kernel_timespec time = {.tv_nsec = (long long)ns};
	struct io_uring *r = ring_for(s, IORING_OP_TIMEOUT);
	struct io_uring_cqe *cqe;
	int ret;

	io_uring_prep_timeout(io_uring_get_sqe(r), &time, 0, 0);
	ret = io_uring_submit_and_wait(r, 1);
	if (ret != 1 || io_uring_wait_cqe(r, &cqe) || cqe->res != -ETIME)
		errx(1, "io_uring timeout: %d", ret);
	io_uring_cqe_seen(r, cqe);
}

void op_uring_batch(struct opener *s, const uint64_t *offsets, unsigned int nr, uint64_t length)
{
	struct io_uring *r = ring_for(s, IORING_OP_READ);

	for (unsigned int i = 0; i < nr; i++)
		io_uring_prep_read(io_uring_get_sqe(r), s->fd, (char *)s->buf + i * length,
				   (unsigned int)length, offsets[i]);
	ring_run(r, nr);
}

void op_uring_advise(struct opener *s, uint64_t offset, uint64_t length, int advice)
{
	bool brings = advice == POSIX_FADV_WILLNEED;
	struct op op = {.kind = brings ? OP_BRING : OP_DROP,
			.figure = brings ? F_willneed : F_evicted_dontneed};
	struct io_uring *r = ring_for(s, IORING_OP_FADVISE);

	oracle_before(s->o, &op);
	io_uring_prep_fadvise(io_uring_get_sqe(r), s->fd, offset, (off_t)length, advice);
	ring_run(r, 1);
	oracle_after(s->o, &op);
}

static void aio_run(struct opener *s, const uint64_t *offsets, unsigned int nr, uint64_t length,
		    uint64_t *ret_sum, bool write)
{
	struct iocb cbs[DEPTH], *list[DEPTH];
	struct io_event events[DEPTH];
	int ret;

	if (!s->aio) {
		s->aio = calloc(1, sizeof(*s->aio));
		ret = s->aio ? io_setup(DEPTH, &s->aio->ctx) : -ENOMEM;
		if (ret == -ENOSYS)
			op_lacking("io_setup", -ret);
		if (ret)
			errx(1, "io_setup: %s", strerror(-ret));
	}
	for (unsigned int i = 0; i < nr; i++) {
		(write ? io_prep_pwrite : io_prep_pread)(
			&cbs[i], s->fd, (char *)s->buf + i * length, length, (long long)offsets[i]);
		list[i] = &cbs[i];
	}
	ret = io_submit(s->aio->ctx, nr, list);
	if (ret != (int)nr)
		errx(1, "io_submit: %d of %u", ret, nr);
	ret = io_getevents(s->aio->ctx, nr, nr, events, NULL);
	if (ret != (int)nr)
		errx(1, "io_getevents: %d of %u", ret, nr);
	*ret_sum = 0;
	for (unsigned int i = 0; i < nr; i++) {
		if ((long)events[i].res < 0)
			errx(1, "aio read: %s", strerror((int)-(long)events[i].res));
		*ret_sum += events[i].res;
	}
}

uint64_t op_aio(struct opener *s, uint64_t offset, uint64_t length)
{
	uint64_t sum;

	aio_run(s, &offset, 1, length, &sum, false);
	return sum;
}

void op_aio_write(struct opener *s, uint64_t offset, uint64_t length)
{
	uint64_t sum;

	aio_run(s, &offset, 1, length, &sum, true);
}

void op_aio_batch(struct opener *s, const uint64_t *offsets, unsigned int nr, uint64_t length)
{
	uint64_t sum;

	aio_run(s, offsets, nr, length, &sum, false);
}

void op_async_close(struct opener *s)
{
	if (s->uring) {
		if (s->uring->probe)
			io_uring_free_probe(s->uring->probe);
		io_uring_queue_exit(&s->uring->ring);
	}
	if (s->aio)
		io_destroy(s->aio->ctx);
	free(s->uring);
	free(s->aio);
	s->uring = NULL;
	s->aio = NULL;
}
