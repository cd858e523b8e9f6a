// SPDX-License-Identifier: BSD-2-Clause
/* Plain reads of one file: sequential, random, strided, and with advice. */
#include <fcntl.h>
#include <stdlib.h>

#include "bitmap.h"
#include "wl.h"

static void seq(struct wl *w, uint64_t step, bool settle)
{
	struct opener s = wl_open(w, 0);

	if (settle) {
		s.o->settle = true;
		s.o->known |= KNOW_SETTLED;
	}
	op_read_all(&s, op_seek_read, 0, s.o->size_bytes, step);
	wl_drop(&s);
	opener_close(&s);
}

static void seq_4k(struct wl *w)
{
	seq(w, 4096, false);
}

static void seq_4k_settled(struct wl *w)
{
	seq(w, 4096, true);
}

static void seq_1m(struct wl *w)
{
	seq(w, MIB, false);
}

static void seq_128k(struct wl *w)
{
	seq(w, 128 << 10, false);
}

/* Pages from before the run: hits without a fate. There is no wait if all are still cached. */
static void warm(struct wl *w)
{
	struct opener s = wl_open(w, 0);
	uint64_t there = bitmap_count(s.o->present, 0, s.o->nr_pages);

	if (there < s.o->nr_pages)
		oracle_disturb(s.o, "the file was not warm", s.o->nr_pages - there);
	s.o->known |= KNOW_SETTLED;
	op_read_all(&s, op_seek_read, 0, s.o->size_bytes, 128 << 10);
	op_read_all(&s, op_seek_read, 0, s.o->size_bytes, 4096);
	opener_close(&s);
}

static void read_20000(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_seek_read, 0, 400 * 20000, 20000);
	wl_drop(&s);
	opener_close(&s);
}

static void random_4k(struct wl *w, unsigned int nr, int advice)
{
	struct opener s = wl_open(w, 0);

	posix_fadvise(s.fd, 0, 0, advice);
	for (unsigned int i = 0; i < nr; i++)
		op_read(&s, op_pread, wl_random(w, s.o->nr_pages) * PAGE_BYTES, PAGE_BYTES);
	wl_drop(&s);
	/* Twice, so that some pages are read again. */
	for (unsigned int i = 0; i < nr / 4; i++)
		op_read(&s, op_pread, wl_random(w, s.o->nr_pages) * PAGE_BYTES, PAGE_BYTES);
	opener_close(&s);
}

static void random_4k_advised(struct wl *w)
{
	random_4k(w, 2000, POSIX_FADV_RANDOM);
}

static void random_4k_normal(struct wl *w)
{
	random_4k(w, 1500, POSIX_FADV_NORMAL);
}

static void random_unaligned(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	for (int i = 0; i < 600; i++) {
		uint64_t length = 1 + wl_random(w, 60000 - 1);

		op_read(&s, op_pread, wl_random(w, s.o->size_bytes), length);
	}
	wl_drop(&s);
	opener_close(&s);
}

static void strided(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	for (uint64_t at = 0; at < s.o->size_bytes; at += 64 << 10)
		op_read(&s, op_pread, at, 8192);
	wl_drop(&s);
	opener_close(&s);
}

/* The kernel cuts the 8 MiB to its limit. */
static void willneed_8m(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_willneed(&s, 0, 8 * MIB);
	op_read_all(&s, op_seek_read, 0, 4 * MIB, 4096);
	wl_drop(&s);
	opener_close(&s);
}

static void half_full(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_seek_read, 0, 16 * MIB, 16 << 10);
	wl_drop(&s);
	op_read_all(&s, op_seek_read, 0, s.o->size_bytes, 16 << 10);
	wl_drop(&s);
	opener_close(&s);
}

/* 1000 distinct cold pages under FADV_RANDOM. */
static void random_distinct(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	posix_fadvise(s.fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < 1000; i++)
		op_read(&s, op_pread, (i * 4099 % s.o->nr_pages) * PAGE_BYTES, PAGE_BYTES);
	wl_drop(&s);
	opener_close(&s);
}

/* 500 pages that were read before and 500 cold ones, alternately. */
static void hot_and_cold(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	posix_fadvise(s.fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < 500; i++)
		op_read(&s, op_pread, i * PAGE_BYTES, PAGE_BYTES);
	for (uint64_t i = 0; i < 500; i++) {
		op_read(&s, op_pread, wl_random(w, 500) * PAGE_BYTES, PAGE_BYTES);
		op_read(&s, op_pread, (1000 + i * 3) * PAGE_BYTES, PAGE_BYTES);
	}
	opener_close(&s);
}

static void backward(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	for (uint64_t at = 8 * MIB; at >= 12288; at -= 12288)
		op_read(&s, op_pread, at - 12288, 12288);
	wl_drop(&s);
	opener_close(&s);
}

/* Two streams through one open file disturb each other's readahead. */
static void interleaved(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	for (uint64_t at = 0; at < 4 * MIB; at += 10000) {
		op_read(&s, op_pread, at, 10000);
		op_read(&s, op_pread, at + 16 * MIB, 10000);
	}
	wl_drop(&s);
	opener_close(&s);
}

const struct pattern patterns_read[] = {
	{"seq_4k", SETUP_cold, seq_4k},
	{"seq_4k_settled", SETUP_cold, seq_4k_settled},
	{"seq_1m", SETUP_cold, seq_1m},
	{"seq_128k", SETUP_cold, seq_128k},
	{"warm", SETUP_warm, warm},
	{"read_20000", SETUP_cold, read_20000},
	{"random_4k_advised", SETUP_cold, random_4k_advised},
	{"random_4k", SETUP_cold, random_4k_normal},
	{"random_unaligned", SETUP_cold, random_unaligned},
	{"strided", SETUP_cold, strided},
	{"willneed_8m", SETUP_cold, willneed_8m},
	{"half_full", SETUP_cold, half_full},
	{"random_distinct", SETUP_cold, random_distinct},
	{"hot_and_cold", SETUP_cold, hot_and_cold},
	{"backward", SETUP_cold, backward},
	{"interleaved", SETUP_cold, interleaved},
	{0},
};
