/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of a sample of references, shared by references.c (what comes in) and references_thin.c
 * (what goes out). Nobody else includes this.
 */
#ifndef REFERENCES_IMPL_H
#define REFERENCES_IMPL_H

#include "cachemon/account/references.h"

struct reference_sample {
	struct reference_limits limits;
	uint64_t threshold;
	struct sampled_page *pages;
	size_t nr_pages, max_pages, live;
	uint32_t *entries;
	size_t nr_entries, max_entries;
	size_t open_from; /* entries from here on are of no chunk yet */
	struct sampled_chunk *chunks;
	size_t nr_chunks, max_chunks;
	uint32_t *slots; /* number + 1 of the pages in the sample, by hash; 0: free */
	uint32_t slot_mask;
	int64_t refs, lookups;
	int64_t distinct_pages;
	double distinct_error;
	bool broken;
	char reason[REFERENCE_REASON_MAX];
	size_t stored_pages, stored_chunks, stored_entries;
	bool rewrite;
};

/* Makes room: the threshold falls as far as it takes. */
void reference_thin(struct reference_sample *s);
/* Half as many chunks. */
void reference_chunks_merge(struct reference_sample *s);
/* Takes out the entries that are of no chunk. */
void reference_open_forget(struct reference_sample *s);
/* The slots anew, of the pages that are in the sample. */
void reference_slots_fill(struct reference_sample *s);

#endif
