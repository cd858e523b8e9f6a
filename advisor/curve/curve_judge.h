/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Judges whether a curve describes the cache that the job had: compares it with the measured miss
 * ratio at the cache's size and with the counted refault distances. Owns the comparison, its words,
 * and the simulation of refaults (refault_simulate() is in curve_judge.c).
 */
#ifndef CURVE_JUDGE_H
#define CURVE_JUDGE_H

#include "advisor/curve/curve.h"
#include "advisor/curve/curve_sample.h"

/* Curve and measurement differ by more than this: uncertain. */
#define CURVE_DISAGREEMENT 0.2

/* Counted values. < 0: unknown. */
struct curve_counted {
	double present_pages; /* the largest number of cached pages of the job */
	/* Pages that lookups fetched from the device, directly or by prefetch / lookups. */
	double miss_low, miss_high;
	double refaults;
	double refault_distance; /* mean, in evictions of the job's pages in between */
	double run_pages;	 /* mean pages that come in together */
};

enum curve_opinion {
	OPINION_NONE, /* nothing to compare */
	OPINION_WEAK, /* a lower bound that does not contradict the curve */
	OPINION_SAME,
	OPINION_OTHER,
};

struct curve_verdict {
	bool compared;
	struct curve_point present;
	double expected_low, expected_high; /* includes the kernel's possible difference from LRU */
	bool outside;
	enum curve_opinion refaults;
	double refault_distance; /* distance that the curve predicts, in pages of the job; < 0: none
				  */
	bool uncertain;		 /* if set, only the figure at the present size is valid */
	char reason[320];	 /* a sentence; "": certain */
};

/* 0 or -ENOMEM. */
int curve_judge(const struct curve *c, const struct curve_sample *s,
		const struct curve_counted *counted, struct curve_verdict *ret);

/*
 * The refault distances that an LRU cache of some size would have on the sample, for comparison
 * with the counted distances.
 */
struct refault_model {
	uint32_t refaults;	      /* lookups of sampled pages that had been cached before */
	double mean_distance, median; /* sampled pages that left the cache in between */
};

/* For a cache of this many sampled pages (>= 1). 0 or -ENOMEM. */
int refault_simulate(const struct curve_sample *s, uint32_t cache_pages, struct refault_model *ret);

#endif
