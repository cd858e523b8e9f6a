/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations on the file under test, each with the oracle's look before and after it. They make the
 * system calls; the oracle interprets them.
 */
#ifndef OP_H
#define OP_H

#include <stdint.h>

#include "oracle.h"

#define EXIT_LACKING 77
#define BUFFER_BYTES (4 << 20)
#define BUFFER_SMALL (64 << 10) /* for files that are smaller */

/* State of an operation; one per process. buf is aligned for direct I/O. */
struct opener {
	struct oracle *o;
	int fd;
	void *buf;
	size_t buf_bytes;
	uint64_t call_ns; /* wall time spent in the calls of op_read() */
	int pipe[2];	  /* splice */
	int null;	  /* sendfile, and the drain of the pipe */
	int sink;	  /* copy_file_range: a file next to the one that is read */
	struct uring *uring;
	struct aio *aio;
	struct outlet *outlet; /* a pipe with little room */
};

/* One way to read [offset, offset + length); returns bytes read. */
typedef uint64_t op_reader(struct opener *s, uint64_t offset, uint64_t length);

struct opener opener_open(struct oracle *o, int flags);
void opener_close(struct opener *s);

/* One read call by fn, seen by the oracle. */
void op_read(struct opener *s, op_reader *fn, uint64_t offset, uint64_t length);
/* A call that may fail (0) or return less; returns bytes read. */
uint64_t op_try(struct opener *s, op_reader *fn, uint64_t offset, uint64_t length);
/* A sequence of them over [offset, end). */
void op_read_all(struct opener *s, op_reader *fn, uint64_t offset, uint64_t end, uint64_t step);
/* nr calls at once, the i-th at offsets[i]. */
typedef void op_batch(struct opener *s, const uint64_t *offsets, unsigned int nr, uint64_t length);
void op_read_batch(struct opener *s, op_batch *fn, const uint64_t *offsets, unsigned int nr,
		   uint64_t length);

/* Ends the program: the kernel lacks a feature that the pattern needs. */
_Noreturn void op_lacking(const char *what, int error);

uint64_t now_ns(void);
/* Counts the call without a look: part of an overlap that others perform. */
void op_count(struct oracle *o, uint64_t offset, uint64_t length);

op_reader op_pread, op_seek_read, op_readv, op_preadv, op_preadv2, op_sendfile, op_splice, op_copy;
/* op_short.c: calls that may fail or stop short; drain makes room again. */
op_reader op_nowait, op_bad_pread, op_bad_read, op_bad_readv, op_send_socket, op_send_pipe,
	op_copy_limited;
void op_drain(struct opener *s, bool by_read);
void op_short_close(struct opener *s);
/* op_async.c */
op_reader op_uring, op_uring_worker, op_uring_readv, op_uring_here, op_uring_fixed, op_uring_polled,
	op_uring_splice, op_aio;
op_batch op_uring_batch, op_aio_batch;
void op_uring_write(struct opener *s, uint64_t offset, uint64_t length);
void op_aio_write(struct opener *s, uint64_t offset, uint64_t length);
void op_uring_sleep(struct opener *s, uint64_t ns);
void op_async_close(struct opener *s);

void op_willneed(struct opener *s, uint64_t offset, uint64_t length);
/* WILLNEED of [0, end) in steps, then end_fn: one operation for the oracle. */
void op_willneed_then(struct opener *s, uint64_t end, uint64_t step, void (*end_fn)(void *),
		      void *argument);
void op_readahead(struct opener *s, uint64_t offset, uint64_t length);
void op_madvise_willneed(struct opener *s, uint64_t offset, uint64_t length);
void op_uring_advise(struct opener *s, uint64_t offset, uint64_t length, int advice);
void op_dontneed(struct opener *s, uint64_t offset, uint64_t length);
void op_drop_caches(struct opener *s);
void op_truncate(struct opener *s, uint64_t size);
void op_write(struct opener *s, uint64_t offset, uint64_t length);
void op_direct_read(struct opener *s, uint64_t offset, uint64_t length);
void op_direct_write(struct opener *s, uint64_t offset, uint64_t length);
/* Reads one byte of a mapping of the whole file. */
void op_touch(struct opener *s, const volatile char *map, uint64_t page);

#endif
