/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The references of sampled pages of one job, as a database has them: what the miss-ratio curve and
 * the patterns of reuse are made of. Owns the reading of the reference_* tables (sql/004) and their
 * encoding; computes nothing of it. Every page of the sample is there with all its references, in
 * order: pages whose hash is at or above the last threshold are left out.
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

/* References that came in between two moments; entries first .. first + nr - 1. */
struct reference_chunk {
	int64_t start_ns; /* since the start of the run */
	int64_t lookups;  /* all of the job's up to its end, in the sample or not */
	size_t first, nr;
};

struct references {
	struct reference_page *pages; /* by number, from 0 */
	size_t nr_pages;
	uint32_t *entries; /* number << 1 | removed: it left the cache, but not by reclaim */
	size_t nr_entries;
	struct reference_chunk *chunks;
	size_t nr_chunks;
	uint64_t threshold;	/* of 2^32: pages of a lesser hash are in the sample */
	int64_t lookups;	/* all of the job's while it was sampled */
	int64_t distinct_pages; /* looked up, in the sample or not; -1: not known */
	double distinct_error;	/* relative standard error of that; 0: exact */
	bool broken;		/* the sample ends before the run does; reason says why */
	char reason[256];
};

/*
 * Loads the sample of a job; references_free() when it is 0. -ENOENT: absent, with the reason in
 * the text. -EBADMSG: the data in the database is not a sample. -E2BIG: it is larger than any that
 * is recorded. Nothing is changed on failure.
 */
int load_references(sqlite3 *db, int64_t job_id, struct references *ret, struct errtext *err);
void references_free(struct references *r);

#endif
