/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LRU stack distances: a lookup at distance d is a hit in every LRU cache of at least d pages. Owns
 * the stack. A removed page leaves a hole, which the next incoming page fills, so that caches that
 * never held the removed page gain nothing.
 */
#ifndef CURVE_STACK_H
#define CURVE_STACK_H

#include "advisor/curve/curve_sample.h"

#define STACK_REMOVED UINT32_C(0)      /* the entry is not a lookup */
#define STACK_AGAIN   (UINT32_MAX - 1) /* first lookup after a removal: misses in any cache */
#define STACK_FIRST   UINT32_MAX       /* first lookup of the page: misses in any cache */

/* One distance per entry. 0 or -ENOMEM. */
int stack_distances(const struct curve_sample *s, uint32_t ret_distances[]);

#endif
