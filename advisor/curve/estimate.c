/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Scales the slope of sampled pages for hotter pages; chosen with curve_accuracy. */
#define HOTTER_SHARE 0.5

/* An M that was estimated from the sampling rate adds no information. */
static bool is_from_sample(const struct curve_sample *s, double rate)
{
	double own_error = sqrt((1 - rate) / s->nr_pages);

	return s->distinct_error > 0 && s->distinct_error > 0.95 * own_error &&
	       fabs(s->distinct_pages * rate / s->nr_pages - 1) < 0.002;
}

int estimate_begin(const struct curve_sample *s, const uint32_t lookups[], struct estimate *ret)
{
	struct estimate e = {.lookups = s->lookups, .nr_pages = s->nr_pages};

	if (!s->nr_pages || !s->threshold || s->threshold > CURVE_HASHES)
		return -EINVAL;
	e.rate = (double)s->threshold / (double)CURVE_HASHES;
	e.by_threshold = s->distinct_pages < 0 || is_from_sample(s, e.rate);
	e.distinct_pages = s->nr_pages / e.rate;
	e.distinct_error = sqrt((1 - e.rate) / s->nr_pages);
	if (!e.by_threshold) {
		e.rate = s->nr_pages / s->distinct_pages;
		e.distinct_pages = s->distinct_pages;
		e.distinct_error = s->distinct_error;
	}
	/* An estimated number of pages may be slightly less than the sample has. */
	if (e.rate > 1 && e.distinct_error > 0 && e.rate < 1 + 4 * e.distinct_error) {
		e.rate = 1;
		e.distinct_pages = s->nr_pages;
	}
	if (e.rate > 1 || !(e.lookups >= s->nr_pages))
		return -EINVAL;
	for (uint32_t p = 0; p < s->nr_pages; p++) {
		e.pages_in_group[curve_group(s->hashes[p])]++;
		e.sampled_lookups += lookups[p];
		e.squares += (double)lookups[p] * lookups[p];
	}
	*ret = e;
	return 0;
}

uint32_t estimate_size(const struct estimate *e, double cache_pages, uint32_t size_max)
{
	double size = floor(cache_pages * e->rate + 1e-9);

	return size <= 0 ? 0 : size >= size_max ? size_max : (uint32_t)size;
}

/* Sum over the groups: (misses - misses expected from their pages) squared. */
static double spread_of(const struct estimate *e, const uint32_t misses[CURVE_GROUPS], double all)
{
	double sum = 0;

	for (int g = 0; g < CURVE_GROUPS; g++) {
		double expected = e->by_threshold ? all / CURVE_GROUPS
						  : all / e->nr_pages * e->pages_in_group[g];

		sum += (misses[g] - expected) * (misses[g] - expected);
	}
	return sum;
}

static double sum_of(const uint32_t misses[CURVE_GROUPS])
{
	double sum = 0;

	for (int g = 0; g < CURVE_GROUPS; g++)
		sum += misses[g];
	return sum;
}

/* Misses per additional lookup of a page, 0 to 1. */
static double slope_of(const struct estimate *e, const struct curve_misses *m, double all)
{
	double mean = e->sampled_lookups / e->nr_pages;
	double variance = e->squares - mean * e->sampled_lookups;
	double slope = variance > 0 ? (m->by_lookups - all * mean) / variance : 0;

	return slope < 0 ? 0 : slope > 1 ? 1 : slope;
}

static double miss_of(const struct estimate *e, const struct curve_misses *m)
{
	double all = sum_of(m->of_group);
	double expected = e->lookups * e->rate;
	double missing = expected - e->sampled_lookups;
	double slope = slope_of(e, m, all);
	double pages = 0;

	/* The share of the variance of lookups that comes from the number of sampled pages. */
	if (e->by_threshold)
		pages = e->sampled_lookups * e->sampled_lookups / e->nr_pages / e->squares;
	/* The sample also lacks pages that are hotter than its hottest, which miss less. */
	if (missing > 0)
		slope *= HOTTER_SHARE;
	all += missing * (pages * all / e->sampled_lookups + (1 - pages) * slope);
	return all / expected;
}

/* e(c) for all sizes, stored where the band's upper end will be. */
static double width_at(const struct estimate *e, const uint32_t misses[CURVE_GROUPS], double miss)
{
	double spread = spread_of(e, misses, sum_of(misses));
	double sampling = CURVE_T *
			  sqrt((1 - e->rate) * CURVE_GROUPS / (CURVE_GROUPS - 1) * spread) /
			  (e->lookups * e->rate);

	return hypot(sampling, CURVE_T * e->distinct_error * miss);
}

/* d(c), of a size in sampled pages. */
static double stretch_at(const struct estimate *e, double size)
{
	double left = 1 - size / e->nr_pages;
	double sampling = CURVE_T * sqrt((1 - e->rate) / size * (left > 0 ? left : 0));

	return hypot(sampling, CURVE_T * e->distinct_error);
}

static uint32_t clamp_size(double size, uint32_t max)
{
	return size <= 0 ? 0 : size >= max ? max : (uint32_t)size;
}

static double clamp_ratio(double r)
{
	return r < 0 ? 0 : r > 1 ? 1 : r;
}

static void make_bands(const struct estimate *e, const double width[], struct curve_ratios *r)
{
	double floor_low = 0;

	for (uint32_t k = 0; k <= r->size_max; k++) {
		double d = k ? stretch_at(e, k) : 0;

		r->low[k] =
			clamp_ratio(r->miss[clamp_size(ceil(k * (1 + d)), r->size_max)] - width[k]);
		r->high[k] = clamp_ratio(r->miss[clamp_size(k * (1 - d), r->size_max)] + width[k]);
	}
	/* First touches miss in every cache, and they are counted. */
	if (!e->by_threshold)
		floor_low = e->distinct_pages * (1 - CURVE_T * e->distinct_error) / e->lookups;
	for (uint32_t k = 0; k <= r->size_max; k++) {
		if (k && r->low[k] > r->low[k - 1])
			r->low[k] = r->low[k - 1];
		if (r->low[k] < floor_low)
			r->low[k] = clamp_ratio(floor_low);
		if (r->miss[k] < r->low[k])
			r->miss[k] = r->low[k];
	}
	for (uint32_t k = r->size_max + 1; k-- > 0;) {
		if (k < r->size_max && r->high[k] < r->high[k + 1])
			r->high[k] = r->high[k + 1];
		if (r->high[k] < r->miss[k])
			r->high[k] = r->miss[k];
	}
}

int estimate_ratios(const struct estimate *e, const struct curve_misses misses[], uint32_t size_max,
		    struct curve_ratios *ret)
{
	struct curve_ratios r = {.size_max = size_max};
	double *width = malloc(((size_t)size_max + 1) * sizeof(*width));

	r.miss = malloc(((size_t)size_max + 1) * sizeof(*r.miss));
	r.low = malloc(((size_t)size_max + 1) * sizeof(*r.low));
	r.high = malloc(((size_t)size_max + 1) * sizeof(*r.high));
	if (!width || !r.miss || !r.low || !r.high) {
		free(width);
		curve_ratios_free(&r);
		return -ENOMEM;
	}
	for (uint32_t k = 0; k <= size_max; k++) {
		double miss = miss_of(e, &misses[k]);

		width[k] = width_at(e, misses[k].of_group, miss);
		r.miss[k] = clamp_ratio(miss);
		if (k && r.miss[k] > r.miss[k - 1])
			r.miss[k] = r.miss[k - 1];
	}
	make_bands(e, width, &r);
	free(width);
	*ret = r;
	return 0;
}

void curve_ratios_free(struct curve_ratios *r)
{
	free(r->miss);
	free(r->low);
	free(r->high);
	*r = (struct curve_ratios){0};
}
