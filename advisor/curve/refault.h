/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What refault distances an LRU cache of some size would have had on the sample: the second opinion
 * on the curve, to be held against the distances that were counted. Owns that simulation.
 */
#ifndef CURVE_REFAULT_H
#define CURVE_REFAULT_H

#include "advisor/curve/curve_sample.h"

struct refault_model {
	uint32_t refaults; /* lookups of sampled pages that had been in the cache before */
	double mean_distance, median; /* sampled pages that left the cache in between */
};

/* A cache of so many sampled pages (>= 1). 0 or -ENOMEM. */
int refault_simulate(const struct curve_sample *s, uint32_t cache_pages, struct refault_model *ret);

#endif
