/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of one file that a model of the page cache holds: which are there, in folios of what
 * order, which folios are marked for readahead, and which pages were used. Sparse. Owns the search
 * for holes as well, slot for slot as the kernel's tree is walked.
 */
#ifndef RA_PAGES_H
#define RA_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RA_MAX_ORDER = 11 };

struct ra_chunk;

struct ra_pages {
	struct ra_chunk **chunks; /* NULL where no page is there */
	size_t nr_chunks;
	size_t nr_there; /* chunks that are not NULL */
	uint64_t spent;	 /* pages looked at or changed so far, about */
	/* -ENOMEM; -E2BIG: more pages, or more work, than any recorded trace makes. Later results
	 * are then wrong. */
	int error;
};

void ra_pages_free(struct ra_pages *p);
/* Before a loop over nr pages, however many an event may name. False: there is an error. */
bool ra_pages_spend(struct ra_pages *p, uint64_t nr);
bool ra_pages_cached(const struct ra_pages *p, uint64_t page);
/* The folio that holds a cached page. */
unsigned int ra_pages_order(const struct ra_pages *p, uint64_t page);
uint64_t ra_pages_head(const struct ra_pages *p, uint64_t page);
/* The first page after its folio. */
uint64_t ra_pages_folio_end(const struct ra_pages *p, uint64_t page);
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
/* Every page from here to the end. Returns how many of them had not been used. */
uint64_t ra_pages_remove_from(struct ra_pages *p, uint64_t page);
/* The first page from here on that may be cached; UINT64_MAX: none is. Leaps over large holes. */
uint64_t ra_pages_next_there(const struct ra_pages *p, uint64_t page);
uint64_t ra_pages_count_unused(const struct ra_pages *p);

struct ra_search {
	bool lags;	   /* see struct ra_kernel */
	bool full_is_last; /* likewise */
};

/* The first hole at or after a page, of `scan` pages looked at. */
uint64_t ra_pages_next_hole(const struct ra_pages *p, uint64_t page, uint64_t scan,
			    struct ra_search how);
/*
 * How long the run of cached pages is that ends at `page`, of `scan` looked at; *ret_from_start: it
 * reaches the file's first page.
 */
uint64_t ra_pages_run_before(const struct ra_pages *p, uint64_t page, uint64_t scan,
			     struct ra_search how, bool *ret_from_start);

#endif
