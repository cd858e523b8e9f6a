/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features of repeated reads: how often, in epochs or not, in which order. The input is every
 * reference of some pages, in order; the choice of pages (a sample by hash, or all) does not
 * matter. Pure.
 */
#ifndef PATTERN_REUSE_H
#define PATTERN_REUSE_H

#include "advisor/pattern/pattern.h"

struct reuse_input {
	const uint32_t *page;  /* per reference: index of the page, below nr_pages */
	const int64_t *lookup; /* the job's lookups so far; NULL: unknown */
	const double *time_s;  /* NULL: unknown */
	size_t nr;
	const uint64_t *index; /* page number in the file, if all are of one file; else NULL */
	size_t nr_pages;
	double rate;	   /* share of the pages that were sampled */
	double size_pages; /* size of the file or files; 0: unknown */
};

/* 0 or -ENOMEM. */
int reuse_features(const struct reuse_input *in, struct features *f);

#endif
