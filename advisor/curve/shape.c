/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/curve/stack.h"

/* Measured in memory-limited cgroups: how the kernel's two lists differ from LRU for such jobs. */
#define SHUFFLED_BETTER 0.10
#define MOVING_WORSE	0.15

#define EPOCHS_MIN	 1.3
#define IN_TURN_MIN	 0.85
#define SAME_CORRELATION 0.9
#define DRIFT_MIN	 0.1

enum { WINDOWS = 8, DISTANT = 4, NEAR_SHARE = 100 };

/* Sums for a linear correlation. */
struct pairs {
	double n, x, y, xx, yy, xy;
};

static void pairs_add(struct pairs *p, double x, double y)
{
	p->n++;
	p->x += x;
	p->y += y;
	p->xx += x * x;
	p->yy += y * y;
	p->xy += x * y;
}

static double pairs_correlation(const struct pairs *p)
{
	double vx = p->xx - p->x * p->x / p->n;
	double vy = p->yy - p->y * p->y / p->n;

	if (p->n < 3 || vx <= 0 || vy <= 0)
		return NAN;
	return (p->xy - p->x * p->y / p->n) / sqrt(vx * vy);
}

/* A repeated lookup that comes before a hundredth of the other pages belongs to the same visit. */
static bool is_visit(const struct curve_sample *s, uint32_t distance)
{
	return distance > 1 && distance > s->nr_pages / NEAR_SHARE;
}

struct visits {
	uint32_t nr, last;
};

static int measure_epochs(const struct curve_sample *s, const uint32_t distances[],
			  struct curve_shape *ret)
{
	struct visits *of = calloc((size_t)s->nr_pages + 1, sizeof(*of));
	struct pairs pairs = {0};
	uint32_t in_turn = 0;
	uint32_t n = 0;

	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_entries; i++) {
		struct visits *v = &of[curve_entry_page(s->entries[i])];

		if (curve_entry_removed(s->entries[i]) || !is_visit(s, distances[i]))
			continue;
		in_turn += v->nr == n / s->nr_pages;
		if (v->nr)
			pairs_add(&pairs, v->last % s->nr_pages, n % s->nr_pages);
		v->nr++;
		v->last = n++;
	}
	free(of);
	ret->epochs = s->nr_pages ? (double)n / s->nr_pages : 0;
	ret->in_turn = n ? (double)in_turn / n : 0;
	ret->correlation = pairs_correlation(&pairs);
	return 0;
}

/* Share of lookups that two windows have in common. */
static double overlap(const uint32_t *a, const uint32_t *b, uint32_t nr_pages, double na, double nb)
{
	double sum = 0;

	for (uint32_t p = 0; p < nr_pages; p++) {
		double sa = a[p] / na;
		double sb = b[p] / nb;

		sum += sa < sb ? sa : sb;
	}
	return sum;
}

static double drift_of(const uint32_t *counts, uint32_t nr_pages, const double totals[WINDOWS])
{
	double sum[2] = {0};
	int n[2] = {0};

	for (int i = 0; i < WINDOWS; i++) {
		for (int j = i + 1; j < WINDOWS; j++) {
			int distant = j - i >= DISTANT;

			if (!distant && j - i > 1)
				continue;
			sum[distant] += overlap(counts + (size_t)i * nr_pages,
						counts + (size_t)j * nr_pages, nr_pages, totals[i],
						totals[j]);
			n[distant]++;
		}
	}
	return sum[0] / n[0] - sum[1] / n[1];
}

static int measure_drift(const struct curve_sample *s, struct curve_shape *ret)
{
	uint32_t *counts = NULL;
	double totals[WINDOWS] = {0};
	uint64_t lookups = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < s->nr_entries; i++)
		lookups += !curve_entry_removed(s->entries[i]);
	if (lookups < WINDOWS)
		return 0;
	counts = calloc((size_t)s->nr_pages * WINDOWS, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_entries; i++) {
		uint64_t w = n * WINDOWS / lookups;

		if (curve_entry_removed(s->entries[i]))
			continue;
		counts[w * s->nr_pages + curve_entry_page(s->entries[i])]++;
		totals[w]++;
		n++;
	}
	ret->drift = drift_of(counts, s->nr_pages, totals);
	free(counts);
	return 0;
}

int shape_of(const struct curve_sample *s, const uint32_t distances[], struct curve_shape *ret)
{
	struct curve_shape shape = {0};
	int err = measure_epochs(s, distances, &shape);

	if (!err)
		err = measure_drift(s, &shape);
	if (err < 0)
		return err;
	if (shape.epochs >= EPOCHS_MIN && shape.in_turn >= IN_TURN_MIN && !isnan(shape.correlation))
		shape.order = shape.correlation >= SAME_CORRELATION ? CURVE_ORDER_SAME
								    : CURVE_ORDER_SHUFFLED;
	shape.hot_moves = shape.drift >= DRIFT_MIN;
	shape.kernel_better_up_to = shape.order == CURVE_ORDER_SHUFFLED ? SHUFFLED_BETTER : 0;
	shape.kernel_worse_up_to = shape.hot_moves ? MOVING_WORSE : 0;
	*ret = shape;
	return 0;
}
