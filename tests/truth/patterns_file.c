// SPDX-License-Identifier: BSD-2-Clause
/* Files that change, vanish, have holes, are tiny, or are read by direct I/O. */
#include <err.h>
#include <fcntl.h>
#include <unistd.h>

#include "wl.h"

static void sync_file(struct opener *s)
{
	if (fsync(s->fd))
		err(1, "fsync");
}

static struct opener open_rw(struct wl *w, uint64_t max_bytes, int flags)
{
	return opener_open(wl_oracle(w, 0, max_bytes), O_RDWR | flags);
}

static void write_4m(struct wl *w)
{
	struct opener s = open_rw(w, 0, 0);

	op_write(&s, 0, 4 * MIB);
	sync_file(&s);
	wl_drop(&s);
	opener_close(&s);
}

/* Written, read back, appended: cached pages need no read. */
static void write_read_back(struct wl *w)
{
	struct opener s = open_rw(w, FILE_BYTES + 4 * MIB, 0);

	for (uint64_t at = 0; at < 4 * MIB; at += 128 << 10)
		op_write(&s, at, 128 << 10);
	op_read_all(&s, op_pread, 0, 4 * MIB, 20000);
	for (uint64_t at = s.o->size_bytes; at < FILE_BYTES + 2 * MIB; at += 5000)
		op_write(&s, at, 5000);
	op_read_all(&s, op_pread, FILE_BYTES, s.o->size_bytes, 7000);
	sync_file(&s);
	wl_drop(&s);
	op_write(&s, MIB + 100, 50);
	op_read_all(&s, op_pread, MIB, MIB + 65536, 4096);
	sync_file(&s);
	wl_drop(&s);
	opener_close(&s);
}

/* A cold file is read while a cached one is overwritten. */
static void read_while_writing(struct wl *w)
{
	struct opener reader = wl_open(w, 0);
	struct opener writer = opener_open(wl_oracle(w, 1, 0), O_RDWR);

	op_read_all(&writer, op_pread, 0, 8 * MIB, MIB);
	for (uint64_t at = 0; at < 8 * MIB; at += 128 << 10) {
		op_read(&reader, op_pread, at, 128 << 10);
		op_write(&writer, at, 128 << 10);
	}
	sync_file(&writer);
	wl_drop(&reader);
	wl_drop(&writer);
	opener_close(&reader);
	opener_close(&writer);
}

static void truncated(struct wl *w)
{
	struct opener s = open_rw(w, 0, 0);

	op_read_all(&s, op_pread, 0, 8 * MIB, 20000);
	op_truncate(&s, 4 * MIB);
	op_read_all(&s, op_pread, 3 * MIB + 50, 6 * MIB, 20000);
	op_truncate(&s, 7 * MIB); /* the rest is a hole now */
	op_read_all(&s, op_pread, 3 * MIB + 50, 7 * MIB, 20000);
	op_truncate(&s, 0);
	op_read(&s, op_pread, 0, 4096);
	opener_close(&s);
}

static void warm_truncated(struct wl *w)
{
	struct opener s = open_rw(w, 0, 0);

	op_read_all(&s, op_pread, 0, MIB, 65536);
	op_truncate(&s, 2 * MIB);
	op_read_all(&s, op_pread, 0, 2 * MIB, 65536);
	opener_close(&s);
}

/* The file's end moves within its last page, which stays, between hits of that page. */
static void cut_within_page(struct wl *w)
{
	struct opener s = open_rw(w, 0, 0);
	uint64_t last = MIB - 4096;

	op_truncate(&s, MIB);
	op_read_all(&s, op_pread, 0, MIB, 4096);
	for (int i = 1; i <= 20; i++) {
		for (int k = 0; k < 10; k++)
			op_read(&s, op_pread, last, 4096);
		op_truncate(&s, MIB - (uint64_t)i * 100);
		op_read(&s, op_pread, last, 4096);
		op_read(&s, op_pread, last - 4096, 8192);
		op_truncate(&s, MIB);
		op_read(&s, op_pread, last, 4096);
	}
	opener_close(&s);
}

/* Its pages leave when the last descriptor is closed. */
static void unlinked(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_pread, 0, 2 * MIB, 20000);
	if (unlink(w->path))
		err(1, "unlink");
	op_read_all(&s, op_pread, 2 * MIB, 4 * MIB, 20000);
	oracle_expect_gone(s.o);
	opener_close(&s);
}

static void past_end(struct wl *w)
{
	struct opener s = wl_open(w, 0);
	uint64_t size = s.o->size_bytes;

	op_read(&s, op_pread, size - 10, 4096);
	op_read(&s, op_pread, size, 4096);
	op_read(&s, op_pread, size + 1, 65536);
	op_read(&s, op_pread, size + 100 * MIB, 65536);
	op_read(&s, op_pread, size - 70000, MIB);
	op_read(&s, op_pread, size - 4096 * 3, 4096 * 4);
	for (int i = 0; i < 3; i++)
		op_read(&s, op_seek_read, size, 20000);
	op_read(&s, op_pread, size - 1, 1);
	wl_drop(&s);
	opener_close(&s);
}

static void holes(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_seek_read, 0, 8 * MIB, 20000);
	for (int i = 0; i < 100; i++)
		op_read(&s, op_pread, wl_random(w, s.o->size_bytes), 1 + wl_random(w, 60000 - 1));
	wl_drop(&s);
	opener_close(&s);
}

static void small_files(struct wl *w)
{
	char name[512];

	for (unsigned int i = 0; i < SMALL_DIRECTORIES * SMALL_PER_DIRECTORY; i++) {
		struct oracle *o;
		struct opener s;

		small_name(w->path, i, name, sizeof(name));
		o = wl_oracle_path(w, name);
		s = opener_open(o, O_RDONLY);
		op_read(&s, op_seek_read, 0, 65536);
		op_read(&s, op_pread, o->size_bytes, 65536); /* like loops that read to the end */
		opener_close(&s);
		oracle_finish(o); /* 3,000 descriptors are too many to keep */
	}
}

static void direct_read(struct wl *w)
{
	struct opener s = opener_open(wl_oracle(w, 0, 0), O_RDONLY | O_DIRECT);
	struct opener buffered = opener_open(s.o, O_RDONLY);

	for (uint64_t at = 0; at < 4 * MIB; at += MIB)
		op_direct_read(&s, at, MIB);
	op_read_all(&buffered, op_pread, MIB, 3 * MIB, 20000);
	for (uint64_t at = 0; at < 4 * MIB; at += 128 << 10)
		op_direct_read(&s, at, 128 << 10);
	op_direct_read(&s, s.o->size_bytes / MIB * MIB, 2 * MIB);
	wl_drop(&buffered);
	opener_close(&buffered);
	opener_close(&s);
}

/* A direct write evicts the cached pages of its range. */
static void direct_write(struct wl *w)
{
	struct opener s = open_rw(w, 0, O_DIRECT);
	struct opener buffered = opener_open(s.o, O_RDONLY);

	s.o->settle = true;
	op_read_all(&buffered, op_pread, 0, 4 * MIB, 20000);
	op_direct_write(&s, MIB, MIB);
	op_read_all(&buffered, op_pread, 0, 4 * MIB, 20000);
	wl_drop(&buffered);
	opener_close(&buffered);
	opener_close(&s);
}

const struct pattern patterns_file[] = {
	{"write_4m", SETUP_cold, write_4m},
	{"write_read_back", SETUP_cold, write_read_back},
	{"read_while_writing", SETUP_many, read_while_writing},
	{"truncated", SETUP_cold, truncated},
	{"warm_truncated", SETUP_warm, warm_truncated},
	{"cut_within_page", SETUP_cold, cut_within_page},
	{"unlinked", SETUP_cold, unlinked},
	{"past_end", SETUP_cold, past_end},
	{"holes", SETUP_sparse, holes},
	{"small_files", SETUP_small, small_files},
	{"direct_read", SETUP_cold, direct_read},
	{"direct_write", SETUP_cold, direct_write},
	{0},
};
