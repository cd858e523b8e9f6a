// SPDX-License-Identifier: BSD-2-Clause
/* Read calls that fail or stop short: bytes that they did not return are no lookup, no byte and
 * no hit. */
#include <err.h>
#include <fcntl.h>

#include "wl.h"

/* Without readahead: otherwise the pages used by a call that stops short would be a guess. */
static struct opener open_random(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	if (posix_fadvise(s.fd, 0, 0, POSIX_FADV_RANDOM))
		errx(1, "FADV_RANDOM");
	return s;
}

/* Fails or stops short at uncached pages, and must do so at least once. */
static void try(struct opener *s, op_reader *fn, uint64_t offset, uint64_t length, uint64_t *failed,
		uint64_t *cut)
{
	uint64_t n = op_try(s, fn, offset, length);

	*failed += !n;
	*cut += n && n < length;
}

static void must_have(uint64_t failed, uint64_t cut)
{
	if (!failed || !cut)
		errx(1, "%llu calls failed, %llu stopped short", (unsigned long long)failed,
		     (unsigned long long)cut);
}

/* The cache alone is tried first, and a refused reader reads with waiting, like thread pools do. */
static void short_nowait(struct wl *w)
{
	struct opener s = open_random(w);
	uint64_t at, length, failed = 0, cut = 0;

	for (int i = 0; i < 150; i++) {
		at = wl_random(w, s.o->size_bytes - 70000);
		length = 1 + wl_random(w, 60000);
		if (i % 3 == 1)
			op_read(&s, op_pread, at, 1 + length / 2);
		if (i % 3 == 2)
			op_read(&s, op_pread, at, length);
		try(&s, op_nowait, at, length, &failed, &cut);
		op_read(&s, op_pread, at, length);
		try(&s, op_nowait, at, length, &failed, &cut);
	}
	/* Again, after advice dropped them. */
	op_dontneed(&s, 0, 0);
	for (int i = 0; i < 50; i++)
		try(&s, op_nowait, wl_random(w, s.o->nr_pages) * PAGE_BYTES, 8192, &failed, &cut);
	must_have(failed, cut);
	wl_drop(&s);
	opener_close(&s);
}

/* Memory that cannot be written: for the whole call, or for its second half. In successive reads
 * of one file, only the first is known to have failed. */
static void short_fault(struct wl *w)
{
	struct opener s = open_random(w);
	uint64_t at, length, failed = 0, cut = 0;

	for (int i = 0; i < 100; i++) {
		at = wl_random(w, s.o->size_bytes - 70000);
		length = 2 + wl_random(w, 60000);
		try(&s, op_bad_readv, at, length, &failed, &cut);
		try(&s, i % 2 ? op_bad_pread : op_bad_read, at, length, &failed, &cut);
		try(&s, op_bad_readv, at, length, &failed, &cut);
		op_read(&s, op_pread, at, length);
		try(&s, op_bad_readv, at, length, &failed, &cut);
		try(&s, op_bad_pread, at, 4096, &failed, &cut);
	}
	must_have(failed, cut);
	wl_drop(&s);
	opener_close(&s);
}

static void sends(struct wl *w, op_reader *fn)
{
	struct opener s = open_random(w);
	uint64_t at = 0, n, failed = 0, cut = 0;

	for (int i = 0; i < 600; i++) {
		n = 1 + wl_random(w, 200000);
		try(&s, fn, at, n, &failed, &cut);
		at = wl_random(w, s.o->size_bytes - 200000);
		if (i % 4)
			op_drain(&s, i % 4 == 1);
	}
	must_have(failed, cut);
	wl_drop(&s);
	opener_close(&s);
}

/* Like a server with a slow client. */
static void short_socket(struct wl *w)
{
	sends(w, op_send_socket);
}

static void short_pipe(struct wl *w)
{
	sends(w, op_send_pipe);
}

/* A file that may not grow that long. */
static void short_copy(struct wl *w)
{
	struct opener s = open_random(w);
	uint64_t failed = 1, cut = 0;

	for (int i = 0; i < 100; i++)
		try(&s, op_copy_limited, wl_random(w, s.o->size_bytes - 200000),
		    1 + wl_random(w, 200000), &failed, &cut);
	must_have(failed, cut);
	wl_drop(&s);
	opener_close(&s);
}

const struct pattern patterns_short[] = {
	{"short_nowait", SETUP_cold, short_nowait}, {"short_fault", SETUP_cold, short_fault},
	{"short_socket", SETUP_cold, short_socket}, {"short_pipe", SETUP_cold, short_pipe},
	{"short_copy", SETUP_cold, short_copy},	    {0},
};
