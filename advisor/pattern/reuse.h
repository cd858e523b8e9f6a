/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features of pages that are read again: how often, in epochs or not, in which order. Takes the
 * references of some pages, all of each, in order; which pages does not matter (a sample by hash,
 * or all). Pure.
 */
#ifndef PATTERN_REUSE_H
#define PATTERN_REUSE_H

#include "advisor/pattern/pattern.h"

struct reuse_input {
	const uint32_t *page;  /* reference by reference: number of the page, below nr_pages */
	const int64_t *lookup; /* the job's lookups until then; NULL: not known */
	const double *time_s;  /* NULL: not known */
	size_t nr;
	const uint64_t
		*index; /* page in the file by number, of pages of one file; NULL: of several */
	size_t nr_pages;
	double rate;	   /* share of the pages that are in the sample */
	double size_pages; /* of the file or files; 0: not known */
};

/* 0 or -ENOMEM. */
int reuse_features(const struct reuse_input *in, struct features *f);

#endif
