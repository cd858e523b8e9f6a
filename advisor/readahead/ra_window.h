/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of the kernel's readahead: a miss, a marker hit, a window to submit, a forced
 * read. Internal to the model. ra_access_begin() and ra_access_end() are in ra_model.c.
 */
#ifndef RA_WINDOW_H
#define RA_WINDOW_H

#include "advisor/readahead/ra_model.h"

/* Called around each access, with its requested pages; they update the totals. */
void ra_access_begin(struct ra_file *f, uint64_t first, uint64_t end);
void ra_access_end(struct ra_file *f);
/* page_cache_sync_ra: a page is absent; `asked` pages are wanted, beginning with it. */
void ra_sync(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked);
/* page_cache_async_ra: the page is in a marked folio. */
void ra_async(struct ra_file *f, struct ra_stream *s, uint64_t page, uint64_t asked);
/* force_page_cache_ra: the request of advice. */
void ra_force(struct ra_file *f, const struct ra_stream *s, uint64_t page, uint64_t asked);
/* page_cache_ra_order: submits the window of the stream. order: of the marked folio, for kernels
 * that use it */
void ra_submit(struct ra_file *f, struct ra_stream *s, unsigned int order);
/* One folio, single or of a window. */
void ra_add(struct ra_file *f, uint64_t first, unsigned int order, bool marked);

#endif
