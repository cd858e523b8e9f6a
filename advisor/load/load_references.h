/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The references of sampled pages of one job, from a database: the input of the miss-ratio curve
 * and of the patterns of reuse. Owns the reading of the reference_* tables (sql/004) and their
 * encoding; computes nothing. Each sampled page has all its references, in order; pages whose hash
 * is at or above the last threshold are left out.
 */
#ifndef LOAD_REFERENCES_H
#define LOAD_REFERENCES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"

#define REFERENCE_THRESHOLD_ALL (UINT64_C(1) << 32) /* every page is in the sample */

struct reference_page {
	uint32_t dev_major, dev_minor, gen;
	uint64_t ino;
	int64_t page_index;
	uint32_t hash;
};

/* References recorded between two moments; entries first .. first + nr - 1. */
struct reference_chunk {
	int64_t start_ns; /* since the start of the run */
	int64_t lookups;  /* all lookups of the job until its end, sampled or not */
	size_t first, nr;
};

struct references {
	struct reference_page *pages; /* by number, from 0 */
	size_t nr_pages;
	uint32_t *entries; /* number << 1 | removed: the page left the cache, but not by reclaim */
	size_t nr_entries;
	struct reference_chunk *chunks;
	size_t nr_chunks;
	uint64_t threshold;	/* of 2^32: pages with a smaller hash are in the sample */
	int64_t lookups;	/* all lookups of the job while it was sampled */
	int64_t distinct_pages; /* pages looked up, sampled or not; -1: unknown */
	double distinct_error;	/* relative standard error of that; 0: exact */
	bool broken;		/* the sample ends before the run does; reason says why */
	char reason[256];
};

/*
 * Loads the sample of a job; call references_free() after 0. -ENOENT: absent, with the reason in
 * the text. -EBADMSG: the data is not a sample. -E2BIG: larger than any recorded sample. An error
 * leaves ret unchanged.
 */
int load_references(sqlite3 *db, int64_t job_id, struct references *ret, struct errtext *err);
void references_free(struct references *r);

#endif
