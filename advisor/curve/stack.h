/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LRU stack distances: a lookup at distance d is a hit in every LRU cache of d pages and more. Owns
 * the stack. A removed page leaves a hole, which the next page that comes in fills: caches
 * that never held the page gain nothing by its removal.
 */
#ifndef CURVE_STACK_H
#define CURVE_STACK_H

#include "advisor/curve/curve_sample.h"

#define STACK_REMOVED UINT32_C(0)      /* the entry is not a lookup */
#define STACK_AGAIN   (UINT32_MAX - 1) /* looked up again after its removal: misses in any cache */
#define STACK_FIRST   UINT32_MAX       /* never looked up before: likewise */

/* One for each entry. 0 or -ENOMEM. */
int stack_distances(const struct curve_sample *s, uint32_t ret_distances[]);

#endif
