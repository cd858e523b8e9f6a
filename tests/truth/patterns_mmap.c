// SPDX-License-Identifier: BSD-2-Clause
/* Mapped files: faults and the pages they bring. The use of a mapped page is not observable. */
#include <err.h>
#include <sys/mman.h>

#include "wl.h"

struct mapping {
	struct opener s;
	const volatile char *map;
	uint64_t bytes;
};

static struct mapping map_open(struct wl *w, int advice)
{
	struct mapping m = {.s = wl_open(w, 0)};
	void *map;

	m.bytes = m.s.o->size_bytes;
	map = mmap(NULL, m.bytes, PROT_READ, MAP_SHARED, m.s.fd, 0);
	if (map == MAP_FAILED || madvise(map, m.bytes, advice))
		err(1, "mmap");
	m.map = map;
	m.s.o->known = KNOW_MAPPED;
	return m;
}

/* Advice does not drop mapped pages: unmap first. */
static void map_close(struct mapping *m)
{
	munmap((void *)m->map, m->bytes);
	wl_drop(&m->s);
	opener_close(&m->s);
}

static void touch_all(struct mapping *m)
{
	for (uint64_t p = 0; p < m->s.o->nr_pages; p++)
		op_touch(&m->s, m->map, p);
}

static void touch_random(struct wl *w, struct mapping *m, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		op_touch(&m->s, m->map, wl_random(w, m->s.o->nr_pages));
}

static void mmap_seq(struct wl *w)
{
	struct mapping m = map_open(w, MADV_NORMAL);

	touch_all(&m);
	map_close(&m);
}

static void mmap_warm(struct wl *w)
{
	struct mapping m = map_open(w, MADV_NORMAL);

	touch_all(&m);
	munmap((void *)m.map, m.bytes);
	opener_close(&m.s);
}

static void mmap_random_advised(struct wl *w)
{
	struct mapping m = map_open(w, MADV_RANDOM);

	touch_random(w, &m, 1000);
	map_close(&m);
}

static void mmap_random(struct wl *w)
{
	struct mapping m = map_open(w, MADV_NORMAL);

	touch_random(w, &m, 1500);
	map_close(&m);
}

/* Mapped and read at once: counts of calls stay exact. */
static void mmap_and_read(struct wl *w)
{
	struct mapping m = map_open(w, MADV_NORMAL);

	for (int i = 0; i < 200; i++) {
		op_touch(&m.s, m.map, wl_random(w, m.s.o->nr_pages));
		op_read(&m.s, op_pread, wl_random(w, m.bytes), 1 + wl_random(w, 60000 - 1));
	}
	map_close(&m);
}

const struct pattern patterns_mmap[] = {
	{"mmap_seq", SETUP_cold, mmap_seq},
	{"mmap_warm", SETUP_warm, mmap_warm},
	{"mmap_random_advised", SETUP_cold, mmap_random_advised},
	{"mmap_random", SETUP_cold, mmap_random},
	{"mmap_and_read", SETUP_cold, mmap_and_read},
	{0},
};
