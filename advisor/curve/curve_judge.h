/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a curve describes the cache that the job had: the miss ratio that was measured, at the
 * size the cache had, and the refault distances that were counted, held against the curve. Owns the
 * comparison, its words, and the simulation of refaults (refault_simulate() is in curve_judge.c).
 */
#ifndef CURVE_JUDGE_H
#define CURVE_JUDGE_H

#include "advisor/curve/curve.h"
#include "advisor/curve/curve_sample.h"

/* The two opinions differ by more than this: uncertain. */
#define CURVE_DISAGREEMENT 0.2

/* Counted values. < 0: unknown. */
struct curve_counted {
	double present_pages; /* the most that the job had in the cache */
	/* Pages that lookups brought from the device, by themselves or ahead of them, by lookups.
	 */
	double miss_low, miss_high;
	double refaults;
	double refault_distance; /* mean, in pages of the job that left in between */
	double run_pages;	 /* that come in together, on average */
};

enum curve_opinion {
	OPINION_NONE, /* nothing to be compared */
	OPINION_WEAK, /* a lower bound that does not contradict */
	OPINION_SAME,
	OPINION_OTHER,
};

struct curve_verdict {
	bool compared;
	struct curve_point present;
	double expected_low, expected_high; /* with what the kernel may differ from LRU by */
	bool outside;
	enum curve_opinion refaults;
	double refault_distance; /* that the curve lets expect, in pages of the job; < 0: none */
	bool uncertain;		 /* then no figure beyond the present is to be given */
	char reason[320];	 /* a sentence; "": certain */
};

/* 0 or -ENOMEM. */
int curve_judge(const struct curve *c, const struct curve_sample *s,
		const struct curve_counted *counted, struct curve_verdict *ret);

/*
 * The refault distances that an LRU cache of some size would have had on the sample: the second
 * opinion on the curve, to be compared with the counted distances.
 */
struct refault_model {
	uint32_t refaults; /* lookups of sampled pages that had been in the cache before */
	double mean_distance, median; /* sampled pages that left the cache in between */
};

/* A cache of so many sampled pages (>= 1). 0 or -ENOMEM. */
int refault_simulate(const struct curve_sample *s, uint32_t cache_pages, struct refault_model *ret);

#endif
