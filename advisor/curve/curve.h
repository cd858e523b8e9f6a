/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of a job, for LRU and for the best possible cache, by size, from the
 * references of a sample of its pages. Owns the step from a sample to its figures. A miss here is a
 * lookup of a page that must be fetched from the device, by the call itself or by prefetch.
 * shape_of() is in shape.c.
 */
#ifndef CURVE_H
#define CURVE_H

#include "advisor/curve/estimate.h"
#include "advisor/curve/curve_sample.h"

/* Added to the band: the observed difference between the kernel's cache and LRU. */
#define CURVE_MODEL_ERROR 0.02

enum { CURVE_POINTS_MAX = 64 };

/*
 * The features of the order of references that make the kernel's cache differ from LRU: epochs,
 * the order within them, and hot pages that move.
 */
enum curve_order {
	CURVE_ORDER_NONE, /* no epochs: pages are not read equally often in turn */
	CURVE_ORDER_SAME, /* epochs, each in the order of the previous one */
	CURVE_ORDER_SHUFFLED,
};

struct curve_shape {
	enum curve_order order;
	double epochs;	    /* visits / pages; immediate repeats count as one visit */
	double in_turn;	    /* share of visits whose number equals the number of their epoch */
	double correlation; /* of a page's place in one epoch with its place in the next; NAN: none
			     */
	double drift; /* overlap of neighbouring eighths of the run, minus that of distant ones */
	bool hot_moves;
	/* The miss ratio of the kernel minus that of LRU, without the error of any model. */
	double kernel_better_up_to, kernel_worse_up_to;
};

/* distances: of stack_distances(). 0 or -ENOMEM. */
int shape_of(const struct curve_sample *s, const uint32_t distances[], struct curve_shape *ret);

struct curve {
	struct estimate estimate;
	struct curve_shape shape;
	struct curve_ratios lru, opt;
	double first_touch;   /* ratio: no cache goes below it */
	double removed_again; /* ratio: lookups after advice, truncation or drop_caches */
	uint32_t sizes[CURVE_POINTS_MAX]; /* worth showing, in sampled pages, ascending */
	size_t nr_sizes;
};

struct curve_point {
	double cache_pages;
	double miss, low, high; /* miss ratio of LRU, and its band */
	double opt, opt_low, opt_high;
};

/* 0, -EINVAL: the totals contradict the sample, -ENOMEM. */
int curve_make(const struct curve_sample *s, struct curve *ret);
void curve_free(struct curve *c);

/* At any size >= 0. */
void curve_at(const struct curve *c, double cache_pages, struct curve_point *ret);
/* The i-th of nr_sizes. */
void curve_shown(const struct curve *c, size_t i, struct curve_point *ret);

/* The smallest sizes that give a hit ratio: the estimate, and the ends of the band. */
struct curve_need {
	double pages, pages_low, pages_high; /* < 0: no size does */
};
void curve_need(const struct curve *c, double hit_ratio, struct curve_need *ret);

/* Shares of the lookups by stack distance: shares[i] are hits in a cache of 2^i pages but not in
 * one of half that size (shares[0]: not without a cache). With the lookups that miss in all
 * these caches they add up to 1. */
enum { CURVE_DISTANCES = 32 };
void curve_distances(const struct curve *c, double shares[CURVE_DISTANCES]);

#endif
