/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/curve/opt.h"
#include "advisor/curve/stack.h"
#include "cachemon/base/order.h"

/* The cost limit of all OPT simulations together: about a second. */
enum { OPT_ENTRIES_MAX = 20000000 };

enum { LINEAR_POINTS = 24, LOG_STEPS = 2 /* a doubling */, LOG_POINTS = 30 };

static void sizes_add(struct curve *c, double size)
{
	uint32_t n = size < 1 ? 1 : (uint32_t)lround(size);

	if (c->nr_sizes < CURVE_POINTS_MAX && n <= c->estimate.nr_pages)
		c->sizes[c->nr_sizes++] = n;
}

/* Even steps show changes at any size; even ratios show small caches. */
static void choose_sizes(struct curve *c)
{
	uint32_t max = c->estimate.nr_pages;
	size_t n = 0;

	for (int i = 1; i <= LINEAR_POINTS; i++)
		sizes_add(c, (double)max * i / LINEAR_POINTS);
	for (int i = LOG_STEPS; i <= LOG_POINTS; i++)
		sizes_add(c, max / exp2((double)i / LOG_STEPS));
	qsort(c->sizes, c->nr_sizes, sizeof(*c->sizes), order_u32);
	for (size_t i = 0; i < c->nr_sizes; i++)
		if (!n || c->sizes[n - 1] != c->sizes[i])
			c->sizes[n++] = c->sizes[i];
	c->nr_sizes = n;
}

static void misses_add(struct curve_misses *sum, const struct curve_misses *m)
{
	for (int g = 0; g < CURVE_GROUPS; g++)
		sum->of_group[g] += m->of_group[g];
	sum->by_lookups += m->by_lookups;
}

/* misses[k]: lookups at a distance above k. Also counts lookups that miss in any cache. */
static void count_misses(const struct curve_sample *s, const uint32_t distances[],
			 const uint32_t lookups[], struct curve_misses misses[], struct curve *c)
{
	double first = 0;
	double again = 0;

	for (size_t i = 0; i < s->nr_entries; i++) {
		uint32_t page = curve_entry_page(s->entries[i]);
		struct curve_misses *m = NULL;

		first += distances[i] == STACK_FIRST;
		again += distances[i] == STACK_AGAIN;
		if (distances[i] == STACK_REMOVED)
			continue;
		/* Distances begin at 1: a hit at distance d, and in all larger caches, is a miss
		 * at d - 1. */
		m = &misses[distances[i] >= STACK_AGAIN ? s->nr_pages : distances[i] - 1];
		m->of_group[curve_group(s->hashes[page])]++;
		m->by_lookups += lookups[page];
	}
	for (uint32_t k = s->nr_pages; k-- > 0;)
		misses_add(&misses[k], &misses[k + 1]);
	c->first_touch = first;
	c->removed_again = again;
}

/* The sizes between two simulated sizes. */
static void fill_between(struct curve_misses misses[], uint32_t from, uint32_t to)
{
	const struct curve_misses *a = &misses[from];
	const struct curve_misses *b = &misses[to];

	for (uint32_t k = from + 1; k < to; k++) {
		double share = (double)(k - from) / (to - from);

		for (int g = 0; g < CURVE_GROUPS; g++)
			misses[k].of_group[g] = (uint32_t)lround(a->of_group[g] * (1 - share) +
								 b->of_group[g] * share);
		misses[k].by_lookups = a->by_lookups * (1 - share) + b->by_lookups * share;
	}
}

static int simulate_opt(const struct curve_sample *s, const struct curve *c,
			const uint32_t lookups[], struct curve_misses misses[])
{
	/* All sizes of a usual sample, some sizes of a long one; always the last size. */
	size_t step = 1 + c->nr_sizes * s->nr_entries / OPT_ENTRIES_MAX;
	struct opt *opt = NULL;
	uint32_t before = 0;
	int ret = opt_new(s, &opt);

	for (size_t i = (c->nr_sizes - 1) % step; !ret && i < c->nr_sizes; i += step) {
		opt_misses(opt, c->sizes[i], lookups, &misses[c->sizes[i]]);
		fill_between(misses, before, c->sizes[i]);
		before = c->sizes[i];
	}
	opt_free(opt);
	return ret;
}

/* OPT is interpolated between two simulated sizes, and LRU may fall below it in one step. */
static void clamp_opt(struct curve *c)
{
	for (uint32_t k = 0; k <= c->lru.size_max; k++) {
		c->opt.miss[k] = fmin(c->opt.miss[k], c->lru.miss[k]);
		c->opt.low[k] = fmin(c->opt.low[k], c->lru.low[k]);
		c->opt.high[k] = fmin(c->opt.high[k], c->lru.high[k]);
	}
}

static int make_ratios(const struct curve_sample *s, const uint32_t distances[],
		       const uint32_t lookups[], struct curve *c)
{
	uint32_t max = s->nr_pages;
	struct curve_misses *misses = calloc((size_t)max + 1, sizeof(*misses));
	struct curve_misses *opt = calloc((size_t)max + 1, sizeof(*opt));
	int ret = misses && opt ? 0 : -ENOMEM;

	if (!ret) {
		count_misses(s, distances, lookups, misses, c);
		ret = estimate_ratios(&c->estimate, misses, max, &c->lru);
	}
	if (!ret) {
		double floor = c->lru.miss[max] / (c->first_touch + c->removed_again);

		c->first_touch *= floor;
		c->removed_again *= floor;
		opt[0] = misses[0];
		ret = simulate_opt(s, c, lookups, opt);
	}
	if (!ret)
		ret = estimate_ratios(&c->estimate, opt, max, &c->opt);
	if (!ret)
		clamp_opt(c);
	free(misses);
	free(opt);
	return ret;
}

static int make_parts(const struct curve_sample *s, const uint32_t lookups[], uint32_t distances[],
		      struct curve *c)
{
	int ret = estimate_begin(s, lookups, &c->estimate);

	if (ret < 0)
		return ret;
	choose_sizes(c);
	ret = stack_distances(s, distances);
	if (!ret)
		ret = shape_of(s, distances, &c->shape);
	if (!ret)
		ret = make_ratios(s, distances, lookups, c);
	return ret;
}

int curve_make(const struct curve_sample *s, struct curve *ret)
{
	uint32_t *distances = malloc((s->nr_entries + 1) * sizeof(*distances));
	uint32_t *lookups = calloc((size_t)s->nr_pages + 1, sizeof(*lookups));
	struct curve c = {0};
	int err = distances && lookups ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < s->nr_entries; i++)
		lookups[curve_entry_page(s->entries[i])] += !curve_entry_removed(s->entries[i]);
	if (!err)
		err = make_parts(s, lookups, distances, &c);
	free(distances);
	free(lookups);
	if (err < 0) {
		curve_free(&c);
		return err;
	}
	*ret = c;
	return 0;
}

void curve_free(struct curve *c)
{
	curve_ratios_free(&c->lru);
	curve_ratios_free(&c->opt);
}

static void point_at(const struct curve *c, uint32_t k, struct curve_point *ret)
{
	ret->miss = c->lru.miss[k];
	ret->low = c->lru.low[k];
	ret->high = c->lru.high[k];
	ret->opt = c->opt.miss[k];
	ret->opt_low = c->opt.low[k];
	ret->opt_high = c->opt.high[k];
}

void curve_at(const struct curve *c, double cache_pages, struct curve_point *ret)
{
	ret->cache_pages = cache_pages;
	point_at(c, estimate_size(&c->estimate, cache_pages, c->lru.size_max), ret);
}

void curve_shown(const struct curve *c, size_t i, struct curve_point *ret)
{
	ret->cache_pages = c->sizes[i] / c->estimate.rate;
	point_at(c, c->sizes[i], ret);
}

static double least_size(const struct curve *c, const double ratios[], double miss)
{
	for (uint32_t k = 0; k <= c->lru.size_max; k++)
		if (ratios[k] <= miss)
			return k / c->estimate.rate;
	return -1;
}

void curve_need(const struct curve *c, double hit_ratio, struct curve_need *ret)
{
	double miss = 1 - hit_ratio + 1e-9;

	ret->pages = least_size(c, c->lru.miss, miss);
	ret->pages_low = least_size(c, c->lru.low, miss);
	ret->pages_high = least_size(c, c->lru.high, miss);
}

void curve_distances(const struct curve *c, double shares[CURVE_DISTANCES])
{
	struct curve_point smaller;

	curve_at(c, 0, &smaller);
	for (int i = 0; i < CURVE_DISTANCES; i++) {
		struct curve_point p;

		curve_at(c, (double)(UINT64_C(1) << i), &p);
		shares[i] = smaller.miss > p.miss ? smaller.miss - p.miss : 0;
		smaller = p;
	}
}
