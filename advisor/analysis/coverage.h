/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds which parts of a file were read, and from which parts pages were evicted or prefetched in
 * vain. The input is either every event of the file or the pages of a sample. Owns the division of
 * a file into parts. Pure.
 */
#ifndef ADVISOR_COVERAGE_H
#define ADVISOR_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "cachemon/figures/trace_code.h"

enum { COVERAGE_PARTS = 64 };
#define COVERAGE_PAGES_MAX (UINT64_C(1) << 26) /* largest file; each page takes a byte */
#define COVERAGE_WORK_MAX  (UINT64_C(1) << 28) /* most pages read, added and evicted, in total */

/* In pages. Each part has part_pages pages; the last part has the rest. */
struct coverage {
	uint64_t file_pages, part_pages;
	size_t nr_parts;
	uint64_t read[COVERAGE_PARTS];		  /* distinct pages read */
	uint64_t evicted[COVERAGE_PARTS];	  /* evictions; a page may count several times */
	uint64_t evicted_unused[COVERAGE_PARTS];  /* evictions of prefetched pages that were never
						   * read */
	uint64_t resident_unused[COVERAGE_PARTS]; /* prefetched, not read, still cached */
};

void coverage_divide(struct coverage *c, uint64_t file_pages);

/* First pass: finds the end of the file. The events may come in any order. */
void coverage_reach(uint64_t *file_pages, const struct trace_event *e, uint64_t page_bytes);

/* Second pass: the same events, in order. */
struct coverage_pages {
	struct coverage *c;
	uint8_t *pages; /* facts about each page */
	uint64_t page_bytes;
	uint64_t size_bytes; /* size of the file at this event */
	uint64_t work;
};

/* 0, -ENOMEM, or -E2BIG: the file has more than COVERAGE_PAGES_MAX. */
int coverage_begin(struct coverage_pages *p, struct coverage *c, uint64_t page_bytes,
		   uint64_t size_bytes);
void coverage_event(struct coverage_pages *p, const struct trace_event *e);
/* c is complete. -E2BIG: the events exceed COVERAGE_WORK_MAX, and c is unusable. */
int coverage_end(struct coverage_pages *p);

/*
 * Uses a sample instead: pages[i] of its pages lie in part i, and it holds threshold / 2^32 of all
 * pages. Fills only `read`, with at most the size of the part.
 */
void coverage_of_sample(struct coverage *c, const uint64_t pages[COVERAGE_PARTS],
			uint64_t threshold);

#endif
