/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which parts of a file were read, and of which parts pages left the cache or were brought in vain:
 * from all that happened to the file, or from the pages of a sample. Owns the division of a file
 * into parts and what counts where. Pure.
 */
#ifndef ADVISOR_COVERAGE_H
#define ADVISOR_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "cachemon/figures/trace_code.h"

enum { COVERAGE_PARTS = 64 };
#define COVERAGE_PAGES_MAX (UINT64_C(1) << 26) /* of a file: a byte is kept for each */
#define COVERAGE_WORK_MAX  (UINT64_C(1) << 28) /* pages read, brought and dropped, together */

/* Pages. A part is part_pages long, the last one what is left. */
struct coverage {
	uint64_t file_pages, part_pages;
	size_t nr_parts;
	uint64_t read[COVERAGE_PARTS];		  /* distinct ones that were read */
	uint64_t evicted[COVERAGE_PARTS];	  /* that left the cache, each time */
	uint64_t evicted_unused[COVERAGE_PARTS];  /* of those, brought ahead and not read until then
						   */
	uint64_t resident_unused[COVERAGE_PARTS]; /* brought ahead, not read, still there */
};

void coverage_divide(struct coverage *c, uint64_t file_pages);

/* How far the file reaches by its events, in any order: first. */
void coverage_reach(uint64_t *file_pages, const struct trace_event *e, uint64_t page_bytes);

/* Then the same events again, in order. */
struct coverage_pages {
	struct coverage *c;
	uint8_t *pages; /* what is known of each */
	uint64_t page_bytes;
	uint64_t size_bytes; /* of the file, at this moment */
	uint64_t work;
};

/* 0, -ENOMEM, or -E2BIG: the file has more than COVERAGE_PAGES_MAX. */
int coverage_begin(struct coverage_pages *p, struct coverage *c, uint64_t page_bytes,
		   uint64_t size_bytes);
void coverage_event(struct coverage_pages *p, const struct trace_event *e);
/* c is complete; -E2BIG: more happened than COVERAGE_WORK_MAX, and c is worth nothing. */
int coverage_end(struct coverage_pages *p);

/*
 * From a sample instead: pages[i] of it lie in part i, and it holds threshold of 2^32 of all pages.
 * Fills read alone, and never more than a part has.
 */
void coverage_of_sample(struct coverage *c, const uint64_t pages[COVERAGE_PARTS],
			uint64_t threshold);

#endif
