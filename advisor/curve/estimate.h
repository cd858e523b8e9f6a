/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the sample to the whole job: miss ratio by cache size, with a band. Owns the estimators and
 * the band's formulas:
 *
 *   R       The share of the job's pages that is in the sample: sampled / M if the number of
 *           distinct pages M is known ("both known totals"), else from the threshold
 *           ("SHARDS-adj").
 *   miss(c) Lookups at a stack distance > c R, divided by N R; N is the number of all lookups. By
 *           both known totals, N R - N_s lookups are added: those that a sample of average pages
 *           would have in addition to this one's. They miss at the slope of misses over lookups,
 *           page by page.
 *   e(c)    t sqrt(1 - R) sqrt(G / (G - 1) sum over groups (m_g - q u_g)^2) / (N R): the error
 *           from the choice of pages. The pages are in G groups by hash, with m_g misses and u_g
 *           pages each; q = sum m / sum u. By the threshold, the mean m replaces q u_g.
 *   d(c)    t sqrt((1 - R) / (R c) max(0, 1 - c / M)): the relative error of distances.
 *   band    [miss(c (1 + d)) - e, miss(c (1 - d)) + e], limited to 0..1 and made monotone.
 *
 * A relative error s of M makes e sqrt(e^2 + (t s miss)^2), and d likewise; without M, s is the
 * error of the number of sampled pages U, sqrt((1 - R) / U).
 */
#ifndef CURVE_ESTIMATE_H
#define CURVE_ESTIMATE_H

#include "advisor/curve/curve_sample.h"

enum { CURVE_GROUPS = 16 };

#define CURVE_T 1.75

/* Misses in a cache of some size. */
struct curve_misses {
	uint32_t of_group[CURVE_GROUPS];
	double by_lookups; /* lookups of the missed pages, summed */
};

/* By cache size in sampled pages, 0 to size_max; constant above it. */
struct curve_ratios {
	double *miss, *low, *high;
	uint32_t size_max;
};

struct estimate {
	double rate; /* R */
	double lookups;
	double distinct_pages; /* M, or its estimate from the sample */
	double distinct_error;
	bool by_threshold; /* M was unknown */
	uint32_t pages_in_group[CURVE_GROUPS];
	uint32_t nr_pages;
	/* For the sampled pages: lookups, and the sum of their squares. */
	double sampled_lookups, squares;
};

/* lookups: by page. -EINVAL: the totals contradict the sample. */
int estimate_begin(const struct curve_sample *s, const uint32_t lookups[], struct estimate *ret);

static inline unsigned int curve_group(uint32_t hash)
{
	return hash % CURVE_GROUPS;
}

/* Converts a cache size to a whole number of sampled pages. */
uint32_t estimate_size(const struct estimate *e, double cache_pages, uint32_t size_max);

/* misses: by size. 0 or -ENOMEM. */
int estimate_ratios(const struct estimate *e, const struct curve_misses misses[], uint32_t size_max,
		    struct curve_ratios *ret);
void curve_ratios_free(struct curve_ratios *r);

#endif
