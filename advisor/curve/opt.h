/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OPT (Belady): of all caches that take in what is read, the one with the fewest misses, which
 * evicts the page that is needed last. Simulated on the sample, a cache of so many sampled pages at
 * a time. Owns the simulation.
 */
#ifndef CURVE_OPT_H
#define CURVE_OPT_H

#include "advisor/curve/estimate.h"

struct opt;

/* The sample must outlive it. 0 or -ENOMEM. */
int opt_new(const struct curve_sample *s, struct opt **ret);
void opt_free(struct opt *o);

/* Adds the misses of a cache of so many pages (>= 1). lookups: by page. */
void opt_misses(struct opt *o, uint32_t cache_pages, const uint32_t lookups[],
		struct curve_misses *misses);

#endif
