/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of one file that a model of the page cache holds: which are there, in folios of what
 * order, which folios are marked for readahead, and which pages were used. Sparse. Owns the search
 * for holes as well, slot for slot as the kernel's tree is walked.
 */
#ifndef READAHEAD_PAGES_H
#define READAHEAD_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RA_MAX_ORDER = 11 };

struct ra_pages {
	uint8_t **chunks; /* of RA_CHUNK pages, NULL where none was ever there */
	size_t nr_chunks;
	bool failed; /* out of memory: whatever it says is wrong from then on */
};

void ra_pages_free(struct ra_pages *p);
bool ra_pages_cached(const struct ra_pages *p, uint64_t page);
/* Of the folio that a cached page is in. */
unsigned int ra_pages_order(const struct ra_pages *p, uint64_t page);
uint64_t ra_pages_head(const struct ra_pages *p, uint64_t page);
bool ra_pages_marked(const struct ra_pages *p, uint64_t page);
void ra_pages_unmark(struct ra_pages *p, uint64_t page);
/* A folio, aligned to its size; none of its pages is there yet. */
void ra_pages_add(struct ra_pages *p, uint64_t head, unsigned int order, bool marked);
/* Pages brought for later that nobody asked for yet; use takes that off and says whether it was. */
void ra_pages_set_unused(struct ra_pages *p, uint64_t page);
bool ra_pages_use(struct ra_pages *p, uint64_t page);
bool ra_pages_unused(const struct ra_pages *p, uint64_t page);
/* One page; the rest of its folio stays, as single pages. */
void ra_pages_remove(struct ra_pages *p, uint64_t page);
/* Every page from here on. Returns how many of them had not been used. */
uint64_t ra_pages_remove_from(struct ra_pages *p, uint64_t page);
uint64_t ra_pages_count_unused(const struct ra_pages *p);

struct ra_search {
	bool lags;	   /* see struct ra_kernel */
	bool full_is_last; /* likewise */
};

/* The first hole at or behind a page, of `scan` pages looked at. */
uint64_t ra_pages_next_hole(const struct ra_pages *p, uint64_t page, uint64_t scan,
			    struct ra_search how);
/*
 * How long the run of cached pages is that ends at `page`, of `scan` looked at; *ret_from_start: it
 * reaches the file's first page.
 */
uint64_t ra_pages_run_before(const struct ra_pages *p, uint64_t page, uint64_t scan,
			     struct ra_search how, bool *ret_from_start);

#endif
