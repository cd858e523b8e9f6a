/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of one file in a model of the page cache: cached pages, the order of their folios,
 * marks for readahead, and used pages. Sparse. Also owns the search for holes, which follows the
 * kernel's tree slot by slot.
 */
#ifndef RA_PAGES_H
#define RA_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RA_MAX_ORDER = 11 };

struct ra_chunk;

struct ra_pages {
	struct ra_chunk **chunks; /* NULL: no cached page in the chunk */
	size_t nr_chunks;
	size_t nr_there; /* chunks that are not NULL */
	uint64_t spent;	 /* approximate number of pages visited or changed */
	/* -ENOMEM; -E2BIG: more pages or work than any recorded trace needs. Later results are
	 * wrong. */
	int error;
};

void ra_pages_free(struct ra_pages *p);
/* Call it before a loop over nr pages, because an event may name any number. False: there is an
 * error. */
bool ra_pages_spend(struct ra_pages *p, uint64_t nr);
bool ra_pages_cached(const struct ra_pages *p, uint64_t page);
/* The folio that holds a cached page. */
unsigned int ra_pages_order(const struct ra_pages *p, uint64_t page);
uint64_t ra_pages_head(const struct ra_pages *p, uint64_t page);
/* The first page after its folio. */
uint64_t ra_pages_folio_end(const struct ra_pages *p, uint64_t page);
bool ra_pages_marked(const struct ra_pages *p, uint64_t page);
void ra_pages_unmark(struct ra_pages *p, uint64_t page);
/* A folio, aligned to its size; none of its pages is cached yet. */
void ra_pages_add(struct ra_pages *p, uint64_t head, unsigned int order, bool marked);
/* Prefetched pages that were not requested yet. use clears that state and returns it. */
void ra_pages_set_unused(struct ra_pages *p, uint64_t page);
bool ra_pages_use(struct ra_pages *p, uint64_t page);
bool ra_pages_unused(const struct ra_pages *p, uint64_t page);
/* One page; the rest of its folio becomes single pages. */
void ra_pages_remove(struct ra_pages *p, uint64_t page);
/* Every page from here to the end. Returns the number of unused ones. */
uint64_t ra_pages_remove_from(struct ra_pages *p, uint64_t page);
/* The first page from here that may be cached; UINT64_MAX: none. Skips large holes. */
uint64_t ra_pages_next_there(const struct ra_pages *p, uint64_t page);
uint64_t ra_pages_count_unused(const struct ra_pages *p);

struct ra_search {
	bool lags;	   /* see struct ra_kernel */
	bool full_is_last; /* see struct ra_kernel */
};

/* The first hole at or after a page, among the next `scan` pages. */
uint64_t ra_pages_next_hole(const struct ra_pages *p, uint64_t page, uint64_t scan,
			    struct ra_search how);
/*
 * The length of the run of cached pages that ends at `page`, among `scan` pages; *ret_from_start:
 * it reaches the file's first page.
 */
uint64_t ra_pages_run_before(const struct ra_pages *p, uint64_t page, uint64_t scan,
			     struct ra_search how, bool *ret_from_start);

#endif
