/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What in the order of the references makes the kernel's cache differ from LRU: epochs, the order
 * within them, and hot pages that move. Owns these measures and what follows from them.
 */
#ifndef CURVE_SHAPE_H
#define CURVE_SHAPE_H

#include "advisor/curve/curve_sample.h"

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
	/* The miss ratio of the kernel against LRU's, beside the error of any model. */
	double kernel_better_up_to, kernel_worse_up_to;
};

/* distances: of stack_distances(). 0 or -ENOMEM. */
int shape_of(const struct curve_sample *s, const uint32_t distances[], struct curve_shape *ret);

#endif
