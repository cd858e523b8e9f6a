/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample of references in memory: pages whose hash is below a threshold that only falls, with
 * all their lookups and removals in order. Owns its bounds and what the store already has; knows
 * no probe and no SQL. At any time it holds what its threshold alone would have taken.
 */
#ifndef REFERENCE_SAMPLE_H
#define REFERENCE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/cachemon.h"

#define REFERENCE_THRESHOLD_ALL (UINT64_C(1) << 32) /* of 2^32: every page */
#define REFERENCE_REASON_MAX	256

struct reference_limits {
	uint32_t pages;	  /* distinct ones in the sample */
	uint32_t entries; /* their lookups and removals */
	uint32_t chunks;
};

struct sampled_page {
	struct file_key file;
	uint64_t index;
	uint32_t hash;
	uint32_t entries; /* 0: it is out of the sample, and its number not used again */
	uint32_t lookups; /* of the entries */
	bool counted;	  /* its first lookup is known without the sample */
};

/* The entries between two samples: first .. first + nr - 1. */
struct sampled_chunk {
	uint64_t start_ns; /* since the start of the run */
	int64_t lookups;   /* all of the job's up to its end, in the sample or not */
	size_t first, nr;
};

struct reference_sample;

struct reference_limits reference_limits_default(void);
/* limits NULL: the defaults; 6 MiB at most, resident as it is used. */
int reference_sample_new(const struct reference_limits *limits, struct reference_sample **ret);
void reference_sample_free(struct reference_sample *s);

/* A lookup of a page whose hash that is, or that it left the cache. It is passed over when it is
 * not of the sample. Without memory the sample breaks. */
void reference_sample_add(struct reference_sample *s, const struct file_key *file, uint64_t index,
			  uint32_t hash, bool removed);
/* Pages of this hash and above leave the sample; a higher threshold than it has changes nothing. */
void reference_sample_lower(struct reference_sample *s, uint64_t threshold);
/* The entries since the last are a chunk; lookups: how many the job made meanwhile, in all. */
void reference_sample_close(struct reference_sample *s, uint64_t start_ns, int64_t lookups);
/* It ends here, for good: nothing is added any more. The first reason stays. */
void reference_sample_break(struct reference_sample *s, const char *reason);

/* The present contents. */
struct reference_view {
	const struct sampled_page *pages; /* by number */
	size_t nr_pages;		  /* numbers */
	size_t live;			  /* pages in the sample */
	const uint32_t *entries;	  /* number << 1 | removed */
	size_t nr_entries;
	const struct sampled_chunk *chunks;
	size_t nr_chunks;
	uint64_t threshold;
	int64_t refs;		/* entries that are lookups */
	int64_t lookups;	/* of the job, up to the end of the last chunk */
	int64_t distinct_pages; /* that the job looked up, in the sample or not; -1: not known */
	double distinct_error;	/* relative standard error of that */
	const char *broken;	/* why; NULL: it is whole */
	/* The part that the store has; it adds the rest. rewrite: delete that part first. */
	size_t stored_pages, stored_chunks;
	bool rewrite;
};
/* Checks for each page of the sample that is not counted yet whether it is. Returns how many are
 * not: only the sample knows their first lookup. */
typedef bool (*sampled_page_ask)(void *ctx, const struct sampled_page *page);
size_t reference_sample_uncounted(struct reference_sample *s, sampled_page_ask counted, void *ctx);

/* Distinct pages: those that were counted, and others of which so many are below the threshold.
 * Each of these is sampled by chance, independently; with the relative standard error that follows.
 * -1: not known. */
int64_t reference_distinct(uint64_t threshold, uint64_t counted, size_t sampled, double *ret_error);
/* How many pages the job looked up so far, and how well that is known. */
void reference_sample_distinct(struct reference_sample *s, int64_t pages, double error);
void reference_sample_view(const struct reference_sample *s, struct reference_view *ret);
/* All that the last view showed is in the store. */
void reference_sample_stored(struct reference_sample *s);

#endif
