// SPDX-License-Identifier: BSD-2-Clause
/* Advice that brings and drops pages, by every call that gives it. */
#include <err.h>
#include <fcntl.h>

#include "wl.h"

/* At most read_ahead_kb, so that the kernel does not cut it. */
#define STEP (128 << 10)

static void bring_4m(struct opener *s, void (*bring)(struct opener *, uint64_t, uint64_t))
{
	s->o->settle = true;
	s->o->known |= KNOW_SETTLED;
	for (uint64_t at = 0; at < 4 * MIB; at += STEP)
		bring(s, at, STEP);
}

/* Brings 4 MiB, waits for it, reads 2 MiB, drops everything, and repeats this from the middle. */
static void bring(struct wl *w, void (*fn)(struct opener *, uint64_t, uint64_t))
{
	struct opener s = wl_open(w, 0);

	bring_4m(&s, fn);
	op_read_all(&s, op_pread, 0, 2 * MIB, 20000);
	wl_drop(&s);
	fn(&s, 3 * MIB, STEP);
	op_read(&s, op_pread, 3 * MIB, STEP / 2);
	fn(&s, 3 * MIB, STEP);
	opener_close(&s);
}

static void willneed(struct wl *w)
{
	bring(w, op_willneed);
}

static void readahead2(struct wl *w)
{
	bring(w, op_readahead);
}

static void madvise_willneed(struct wl *w)
{
	bring(w, op_madvise_willneed);
}

static void uring_bring(struct opener *s, uint64_t offset, uint64_t length)
{
	op_uring_advise(s, offset, length, POSIX_FADV_WILLNEED);
}

static void uring_willneed(struct wl *w)
{
	bring(w, uring_bring);
}

static void uring_dontneed(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_pread, 0, 4 * MIB, 65536);
	op_uring_advise(&s, MIB, 2 * MIB, POSIX_FADV_DONTNEED);
	op_read_all(&s, op_pread, 0, 4 * MIB, 65536);
	op_uring_advise(&s, 0, 0, POSIX_FADV_DONTNEED);
	opener_close(&s);
}

static void drop_4m(void *argument)
{
	struct opener *s = argument;

	if (posix_fadvise(s->fd, 0, 4 * MIB, POSIX_FADV_DONTNEED))
		errx(1, "fadvise DONTNEED");
}

/* Pages that were cached before the run: those of a file that was read count when they leave and
 * when they return. */
static void warm_dontneed(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_pread, 0, 2 * MIB, 65536);
	op_dontneed(&s, MIB, 2 * MIB);
	op_read_all(&s, op_pread, 0, 4 * MIB, 65536);
	op_dontneed(&s, 0, 0);
	op_read_all(&s, op_pread, MIB, MIB, 20000);
	opener_close(&s);
}

/* Right after WILLNEED: pages in flight stay. If pages in flight are not seen, only the pages
 * that stayed are known, not those dropped at once. */
static void dontneed_in_flight(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	if (looks_see_flight()) {
		for (uint64_t at = 0; at < 4 * MIB; at += STEP)
			op_willneed(&s, at, STEP);
		op_dontneed(&s, 0, 4 * MIB);
	} else {
		op_willneed_then(&s, 4 * MIB, STEP, drop_4m, &s);
		s.o->known = KNOW_STAYED;
	}
	op_read_all(&s, op_pread, 0, MIB, 20000);
	wl_drop(&s);
	s.o->f[F_balance] = s.o->f[F_added] - s.o->f[F_evicted];
	opener_close(&s);
}

/* Ranges that do not begin or end at a page boundary. */
static void dontneed_partial(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	op_read_all(&s, op_pread, 0, 2 * MIB, 65536);
	op_dontneed(&s, 100, 5000);
	op_dontneed(&s, 40000, 100000);
	op_dontneed(&s, MIB + 1, 2);
	op_read_all(&s, op_pread, 0, 2 * MIB, 10000);
	wl_drop(&s);
	opener_close(&s);
}

static void drop_caches(struct wl *w)
{
	struct opener s = wl_open(w, 0);

	s.o->settle = true; /* pages in flight are locked and stay */
	op_read_all(&s, op_pread, 0, 8 * MIB + 5000, 10000);
	op_drop_caches(&s);
	op_read_all(&s, op_pread, MIB, 2 * MIB, 10000);
	op_drop_caches(&s);
	opener_close(&s);
}

const struct pattern patterns_advice[] = {
	{"willneed", SETUP_cold, willneed},
	{"readahead2", SETUP_cold, readahead2},
	{"madvise_willneed", SETUP_cold, madvise_willneed},
	{"uring_willneed", SETUP_cold, uring_willneed},
	{"uring_dontneed", SETUP_cold, uring_dontneed},
	{"dontneed_in_flight", SETUP_cold, dontneed_in_flight},
	{"dontneed_partial", SETUP_cold, dontneed_partial},
	{"warm_dontneed", SETUP_warm, warm_dontneed},
	{"drop_caches", SETUP_cold, drop_caches},
	{0},
};
