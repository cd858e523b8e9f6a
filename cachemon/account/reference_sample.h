/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample of references in memory: pages whose hash is below a threshold that only falls, with
 * all their lookups and removals in order. Owns its limits and what the store already has; knows no
 * probe and no SQL. Its contents depend only on the present threshold.
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
	uint32_t pages;	  /* distinct pages in the sample */
	uint32_t entries; /* their lookups and removals */
	uint32_t chunks;
};

struct sampled_page {
	struct file_key file;
	uint64_t index;
	uint32_t hash;
	uint32_t entries; /* 0: it left the sample, and its number is not reused */
	uint32_t lookups; /* number of its entries */
	bool counted;	  /* its first lookup is known from elsewhere */
};

/* The entries between two samples: first .. first + nr - 1. */
struct sampled_chunk {
	uint64_t start_ns; /* since the start of the run */
	int64_t lookups;   /* all lookups of the job until its end, sampled or not */
	size_t first, nr;
};

struct reference_sample;

struct reference_limits reference_limits_default(void);
/* limits NULL: the defaults; at most 6 MiB, resident as used. */
int reference_sample_new(const struct reference_limits *limits, struct reference_sample **ret);
void reference_sample_free(struct reference_sample *s);

/* Adds a lookup of the page with that hash, or its removal; ignored if the page is not sampled.
 * Out of memory ends the sample. */
void reference_sample_add(struct reference_sample *s, const struct file_key *file, uint64_t index,
			  uint32_t hash, bool removed);
/* Drops pages with this hash or a larger one; a threshold above the present one has no effect. */
void reference_sample_lower(struct reference_sample *s, uint64_t threshold);
/* Turns the entries since the last chunk into a chunk; lookups: the job's total in that time. */
void reference_sample_close(struct reference_sample *s, uint64_t start_ns, int64_t lookups);
/* Ends the sample for good: nothing more is added. The first reason stays. */
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
	int64_t refs;		/* number of lookups among the entries */
	int64_t lookups;	/* of the job, up to the end of the last chunk */
	int64_t distinct_pages; /* pages looked up by the job, sampled or not; -1: unknown */
	double distinct_error;	/* relative standard error of that */
	const char *broken;	/* reason; NULL: complete */
	/* Pages and chunks in the store, and those to add. rewrite: delete the old part first. */
	size_t stored_pages, stored_chunks;
	bool rewrite;
};
/* Checks each sampled page that is not counted yet. Returns how many remain: only the sample
 * knows their first lookup. */
typedef bool (*sampled_page_ask)(void *ctx, const struct sampled_page *page);
size_t reference_sample_uncounted(struct reference_sample *s, sampled_page_ask counted, void *ctx);

/* Estimates the number of distinct pages: the counted ones, plus others, of which this many are in
 * the sample. Also gives the relative standard error. -1: unknown. */
int64_t reference_distinct(uint64_t threshold, uint64_t counted, size_t sampled, double *ret_error);
/* The number of pages that the job looked up so far, and its error. The kernel may already count
 * pages of lookups that follow the last chunk: the view never has more pages than lookups. */
void reference_sample_distinct(struct reference_sample *s, int64_t pages, double error);
void reference_sample_view(const struct reference_sample *s, struct reference_view *ret);
/* The store has everything that the last view showed. */
void reference_sample_stored(struct reference_sample *s);

#endif
