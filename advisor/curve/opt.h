/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OPT (Belady): the demand-filled cache with the fewest misses, which evicts the page whose next
 * use is farthest away. Owns the simulation, which runs for one cache size (in sampled pages) at a
 * time.
 */
#ifndef CURVE_OPT_H
#define CURVE_OPT_H

#include "advisor/curve/estimate.h"

struct opt;

/* The sample must outlive it. 0 or -ENOMEM. */
int opt_new(const struct curve_sample *s, struct opt **ret);
void opt_free(struct opt *o);

/* Adds the misses of a cache of this many pages (>= 1). lookups: by page. */
void opt_misses(struct opt *o, uint32_t cache_pages, const uint32_t lookups[],
		struct curve_misses *misses);

#endif
