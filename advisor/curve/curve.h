/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The miss-ratio curve of a job: of LRU caches and of the best possible ones, by size, from the
 * references of a sample of its pages. Owns the way from a sample to its figures. A miss here is a
 * lookup of a page that must be brought from the device, by the call itself or ahead of it: no
 * cache of the sizes in question holds it. shape_of() is in shape.c.
 */
#ifndef CURVE_H
#define CURVE_H

#include "advisor/curve/estimate.h"
#include "advisor/curve/curve_sample.h"

/* In addition to the band: the observed difference of the kernel's cache from LRU. */
#define CURVE_MODEL_ERROR 0.02

enum { CURVE_POINTS_MAX = 64 };

/*
 * The features of the order of references that make the kernel's cache differ from LRU: epochs,
 * the order within them, and hot pages that move.
 */
enum curve_order {
	CURVE_ORDER_NONE, /* no epochs: not every page is read as often as the others, in turn */
	CURVE_ORDER_SAME, /* epochs, each in the order of the one before */
	CURVE_ORDER_SHUFFLED,
};

struct curve_shape {
	enum curve_order order;
	double epochs;	    /* visits by pages; a page looked up again at once is one visit */
	double in_turn;	    /* share of visits that come in the epoch of their own number */
	double correlation; /* of a page's place in an epoch with that in the next; NAN: none */
	double drift; /* overlap of neighbouring eighths of the run, less that of distant ones */
	bool hot_moves;
	/* The miss ratio of the kernel against LRU's, apart from the error of any model. */
	double kernel_better_up_to, kernel_worse_up_to;
};

/* distances: of stack_distances(). 0 or -ENOMEM. */
int shape_of(const struct curve_sample *s, const uint32_t distances[], struct curve_shape *ret);

struct curve {
	struct estimate estimate;
	struct curve_shape shape;
	struct curve_ratios lru, opt;
	double first_touch;   /* ratio: no cache makes it less */
	double removed_again; /* ratio: looked up after advice, truncation or drop_caches took it */
	uint32_t sizes[CURVE_POINTS_MAX]; /* worth showing, in sampled pages, growing */
	size_t nr_sizes;
};

struct curve_point {
	double cache_pages;
	double miss, low, high; /* of LRU */
	double opt, opt_low, opt_high;
};

/* 0, -EINVAL: the totals cannot be those of this sample, -ENOMEM. */
int curve_make(const struct curve_sample *s, struct curve *ret);
void curve_free(struct curve *c);

/* At any size >= 0. */
void curve_at(const struct curve *c, double cache_pages, struct curve_point *ret);
/* The i-th of nr_sizes. */
void curve_shown(const struct curve *c, size_t i, struct curve_point *ret);

/* The least sizes that give a hit ratio: most likely, and by the ends of the band. */
struct curve_need {
	double pages, pages_low, pages_high; /* < 0: no size does */
};
void curve_need(const struct curve *c, double hit_ratio, struct curve_need *ret);

/* Shares of the lookups by how many other pages were looked up since the page was before: shares[i]
 * of those that a cache of 2^i pages has and one of half that size (shares[0]: none at all) has
 * not. They add up to 1 with those that no such cache has. */
enum { CURVE_DISTANCES = 32 };
void curve_distances(const struct curve *c, double shares[CURVE_DISTANCES]);

#endif
