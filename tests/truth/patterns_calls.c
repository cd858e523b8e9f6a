// SPDX-License-Identifier: BSD-2-Clause
/* The same reads with every call that reads the page cache. */
#include <err.h>
#include <fcntl.h>

#include "wl.h"

/*
 * Sequential odd sizes, two-page and random unaligned reads, a drop and a second look. Earlier
 * observers miscounted calls whose first pages are not reported (its last folio is not yet read),
 * and calls that continue another one.
 */
static void mixed(struct wl *w, op_reader *fn)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, fn, 0, 200 * 20000, 20000);
	for (int i = 0; i < 150; i++)
		op_read(&s, fn, wl_random(w, s.o->nr_pages - 2) * PAGE_BYTES, 2 * PAGE_BYTES);
	for (int i = 0; i < 150; i++)
		op_read(&s, fn, wl_random(w, s.o->size_bytes), 1 + wl_random(w, 60000 - 1));
	op_read_all(&s, fn, 20 * MIB, 24 * MIB, 64 << 10);
	op_read(&s, fn, s.o->size_bytes - 5000, 60000);
	wl_drop(&s);
	op_read_all(&s, fn, 0, MIB, 20000);
	opener_close(&s);
}

static void call_read(struct wl *w)
{
	mixed(w, op_seek_read);
}

static void call_pread(struct wl *w)
{
	mixed(w, op_pread);
}

static void call_readv(struct wl *w)
{
	mixed(w, op_readv);
}

static void call_preadv(struct wl *w)
{
	mixed(w, op_preadv);
}

static void call_preadv2(struct wl *w)
{
	mixed(w, op_preadv2);
}

static void call_sendfile(struct wl *w)
{
	mixed(w, op_sendfile);
}

static void call_copy(struct wl *w)
{
	mixed(w, op_copy);
}

/* Reads that fit into a pipe of 16 buffers at any offset. */
static void call_splice(struct wl *w)
{
	mixed(w, op_splice);
}

static void call_uring(struct wl *w)
{
	mixed(w, op_uring);
}

static void call_uring_worker(struct wl *w)
{
	mixed(w, op_uring_worker);
}

static void call_uring_readv(struct wl *w)
{
	mixed(w, op_uring_readv);
}

static void call_uring_here(struct wl *w)
{
	mixed(w, op_uring_here);
}

static void call_uring_fixed(struct wl *w)
{
	mixed(w, op_uring_fixed);
}

static void call_uring_polled(struct wl *w)
{
	mixed(w, op_uring_polled);
}

/* Within a pipe of 16 pages; an earlier read by the same worker in that page would be ambiguous. */
static void call_uring_splice(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	for (uint64_t at = 0; at < 200; at++)
		op_read(&s, op_uring_splice, at * 40000 + wl_random(w, 20000), 1 + at * 90);
	wl_drop(&s);
	opener_close(&s);
}

/* Advice and writes of one worker: pages that the write adds count as written. */
static void uring_advised_write(struct wl *w)
{
	struct opener s = opener_open(wl_oracle(w, 0, 0), O_RDWR);
	struct op op = {.kind = OP_WRITE, .length = 8192};

	for (uint64_t at = 0; at < 20 * MIB; at += MIB) {
		op_uring_advise(&s, at, 65536, POSIX_FADV_WILLNEED);
		op.offset = at + MIB / 2;
		oracle_before(s.o, &op);
		op_uring_write(&s, op.offset, op.length);
		oracle_after(s.o, &op);
	}
	opener_close(&s);
}

static void call_aio(struct wl *w)
{
	mixed(w, op_aio);
}

/* On cached pages, without a look, which would reset the next call. */
static void unseen(struct opener *s, op_reader *fn, uint64_t offset, uint64_t length)
{
	op_count(s->o, offset, length);
	if (fn(s, offset, length) != length)
		errx(1, "%s: short read at %llu", s->o->path, (unsigned long long)offset);
}

/* A call in pieces right after reads of the same pages: its first piece looks like them. The
 * file is read whole, so that none of its pages is unused. */
static void calls_in_turn(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_pread, 0, s.o->size_bytes, 128 << 10);
	for (uint64_t i = 0; i < 20; i++) {
		for (int k = 0; k < 3; k++)
			unseen(&s, op_pread, i * 4096, 4096);
		unseen(&s, op_sendfile, i * 5000, MIB);
		for (int k = 0; k < 3; k++)
			unseen(&s, op_pread, i * 4096, 4096);
		unseen(&s, op_copy, MIB + i * 4096, 300000);
	}
	opener_close(&s);
}

/* The whole file in one call: every page was requested, so none is prefetched. */
static void sendfile_whole(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read(&s, op_sendfile, 0, s.o->size_bytes);
	wl_drop(&s);
	opener_close(&s);
}

/* Like cp(1). */
static void copy_whole(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read(&s, op_copy, 0, s.o->size_bytes);
	wl_drop(&s);
	opener_close(&s);
}

/* Calls that need one to five pipes, between any two bytes: a part may end in the same page as
 * the next one. */
static void parts(struct wl *w, op_reader *fn)
{
	struct opener s = wl_open(w, 0);

	for (int i = 0; i < 200; i++)
		op_read(&s, fn, wl_random(w, s.o->size_bytes), 60000 + wl_random(w, 10000));
	for (int i = 0; i < 100; i++)
		op_read(&s, fn, wl_random(w, s.o->size_bytes), 1 + wl_random(w, 300000));
	opener_close(&s);
}

static void sendfile_parts(struct wl *w)
{
	parts(w, op_sendfile);
}

static void copy_parts(struct wl *w)
{
	parts(w, op_copy);
}

static void sendfile_100000(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_sendfile, 0, s.o->size_bytes, 100000);
	wl_drop(&s);
	opener_close(&s);
}

static void batches(struct wl *w, op_batch *fn)
{
	struct opener s = wl_open(w, 0);
	uint64_t offsets[8];

	s.o->known = KNOW_OVERLAPPED;
	for (uint64_t at = 0; at < 8 * MIB; at += sizeof(offsets) / 8 * 65536) {
		for (unsigned int i = 0; i < 8; i++)
			offsets[i] = at + i * 65536;
		op_read_batch(&s, fn, offsets, 8, 65536);
	}
	for (int n = 0; n < 100; n++) {
		for (unsigned int i = 0; i < 8; i++)
			offsets[i] = wl_random(w, s.o->size_bytes / 16384) * 16384;
		op_read_batch(&s, fn, offsets, 8, 16384);
	}
	wl_drop(&s);
	opener_close(&s);
}

static void uring_depth8(struct wl *w)
{
	batches(w, op_uring_batch);
}

/* One after the other, cold and cached, from any page to the end of the previous one. */
static void same_end(struct wl *w, op_reader *fn)
{
	struct opener s = wl_open(w, 0);
	uint64_t at, end;

	for (int i = 0; i < 40; i++) {
		end = (64 + wl_random(w, s.o->nr_pages - 65)) * PAGE_BYTES - wl_random(w, 100);
		for (int n = 0; n < 8; n++) {
			at = end - 1 - wl_random(w, 12 * PAGE_BYTES);
			op_read(&s, fn, at, end - at);
		}
	}
	wl_drop(&s);
	opener_close(&s);
}

static void uring_same_end(struct wl *w)
{
	same_end(w, op_uring);
}

static void worker_same_end(struct wl *w)
{
	same_end(w, op_uring_worker);
}

/*
 * Eight at once, seven of them for the same ten pages. Half of those are cached and the eighth has
 * just begun to read the others, so that only the last pages distinguish the seven.
 */
static void uring_twins(struct wl *w)
{
	struct opener s = wl_open(w, 0);
	uint64_t offsets[8];

	s.o->known = KNOW_OVERLAPPED;
	if (posix_fadvise(s.fd, 0, 0, POSIX_FADV_RANDOM))
		errx(1, "FADV_RANDOM");
	for (uint64_t at = 0; at < 24 * MIB; at += 64 * PAGE_BYTES) {
		op_read(&s, op_uring, at, 5 * PAGE_BYTES);
		for (unsigned int i = 0; i < 8; i++)
			offsets[i] = at;
		offsets[0] = at + 5 * PAGE_BYTES;
		op_read_batch(&s, op_uring_batch, offsets, 8, 10 * PAGE_BYTES);
	}
	wl_drop(&s);
	opener_close(&s);
}

static void aio_depth8(struct wl *w)
{
	batches(w, op_aio_batch);
}

const struct pattern patterns_calls[] = {
	{"call_read", SETUP_cold, call_read},
	{"call_pread", SETUP_cold, call_pread},
	{"call_readv", SETUP_cold, call_readv},
	{"call_preadv", SETUP_cold, call_preadv},
	{"call_preadv2", SETUP_cold, call_preadv2},
	{"call_sendfile", SETUP_cold, call_sendfile},
	{"call_copy", SETUP_cold, call_copy},
	{"call_splice", SETUP_cold, call_splice},
	{"call_uring", SETUP_cold, call_uring},
	{"call_uring_worker", SETUP_cold, call_uring_worker},
	{"call_uring_readv", SETUP_cold, call_uring_readv},
	{"call_uring_here", SETUP_cold, call_uring_here},
	{"call_uring_fixed", SETUP_cold, call_uring_fixed},
	{"call_uring_polled", SETUP_cold, call_uring_polled},
	{"call_uring_splice", SETUP_cold, call_uring_splice},
	{"uring_advised_write", SETUP_cold, uring_advised_write},
	{"call_aio", SETUP_cold, call_aio},
	{"calls_in_turn", SETUP_cold, calls_in_turn},
	{"sendfile_whole", SETUP_cold, sendfile_whole},
	{"copy_whole", SETUP_cold, copy_whole},
	{"sendfile_parts", SETUP_cold, sendfile_parts},
	{"copy_parts", SETUP_cold, copy_parts},
	{"sendfile_100000", SETUP_cold, sendfile_100000},
	{"uring_depth8", SETUP_cold, uring_depth8},
	{"uring_same_end", SETUP_cold, uring_same_end},
	{"worker_same_end", SETUP_cold, worker_same_end},
	{"uring_twins", SETUP_cold, uring_twins},
	{"aio_depth8", SETUP_cold, aio_depth8},
	{0},
};
