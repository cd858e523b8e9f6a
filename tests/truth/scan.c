// SPDX-License-Identifier: BSD-2-Clause
/* The presence of pages by the chosen ways; if both are used, they must agree. */
#include <err.h>
#include <inttypes.h>
#include <string.h>

#include "bitmap.h"
#include "oracle.h"

/* cachestat(2) may overlook a page for one call, see cachestat.c: a longer absence is a
 * difference. */
#define ROUNDS 16

uint64_t scan_count(int fd, uint64_t nr)
{
	return looks() == LOOKS_MINCORE ? mincore_count(fd, nr) : cachestat_count(fd, 0, nr);
}

static bool first_difference(const struct oracle *o, const uint64_t *map, uint64_t first,
			     uint64_t nr, uint64_t *ret_page)
{
	for (uint64_t p = first; p < first + nr; p++)
		if (bitmap_test(map, p) != bitmap_test(o->other, p)) {
			*ret_page = p;
			return true;
		}
	return false;
}

/* map has the answer of cachestat(2) for the range. */
static bool agreed(struct oracle *o, const uint64_t *map, uint64_t first, uint64_t nr, int round)
{
	uint64_t page;

	mincore_look(o, o->other, first, nr);
	if (!first_difference(o, map, first, nr, &page))
		return true;
	if (round == ROUNDS - 1)
		errx(1,
		     "%s: page %" PRIu64 " of %" PRIu64 " is %s by cachestat(2), %s by mincore(2)",
		     o->path, page, o->nr_pages, bitmap_test(map, page) ? "present" : "absent",
		     bitmap_test(o->other, page) ? "present" : "absent");
	return false;
}

void scan_changes(struct oracle *o, uint64_t first, uint64_t nr)
{
	if (looks() == LOOKS_MINCORE) {
		memcpy(o->now, o->present, bitmap_words(o->nr_pages) * 8);
		mincore_look(o, o->now, first, nr);
		return;
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (looks() == LOOKS_BOTH)
			oracle_settle(o);
		cachestat_changes(o);
		if (looks() != LOOKS_BOTH || agreed(o, o->now, first, nr, i))
			return;
	}
}

void scan_all(struct oracle *o, uint64_t *map)
{
	if (looks() == LOOKS_MINCORE) {
		mincore_look(o, map, 0, o->nr_pages);
		return;
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (looks() == LOOKS_BOTH)
			oracle_settle(o);
		cachestat_all(o, map);
		if (looks() != LOOKS_BOTH || agreed(o, map, 0, o->nr_pages, i))
			return;
	}
}
