/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference string that the models of this directory read: every lookup of some pages of a job,
 * in order. Owns the type and the coding of an entry; advisor/analysis/job_curve.h makes samples.
 */
#ifndef CURVE_SAMPLE_H
#define CURVE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_HASHES (UINT64_C(1) << 32) /* hashes are below */

enum { CURVE_PAGES_MAX = 1 << 30 };

struct curve_sample {
	const uint32_t *entries; /* page << 1 | removed */
	size_t nr_entries;
	const uint32_t *hashes; /* by page; all below the threshold */
	uint32_t nr_pages;	/* each page is looked up at least once */
	uint64_t threshold;	/* of CURVE_HASHES: pages with a smaller hash are in the sample */
	double lookups;		/* of the job while its references were sampled, all pages */
	double distinct_pages;	/* pages looked up while sampled; < 0: unknown */
	double distinct_error;	/* relative standard error of it; 0: exact */
};

static inline uint32_t curve_entry_page(uint32_t entry)
{
	return entry >> 1;
}

/* The page was removed by advice, truncation or drop_caches, whatever the size of the cache. */
static inline bool curve_entry_removed(uint32_t entry)
{
	return entry & 1;
}

#endif
