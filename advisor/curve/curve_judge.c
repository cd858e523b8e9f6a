/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/curve/curve_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/base/human.h"
#include "cachemon/base/order.h"

/* A page is in the LRU list, or left it at a certain count of evictions. */
struct lru_page {
	uint32_t newer, older;
	uint32_t left;
	bool cached, known;
};

struct lru {
	struct lru_page *pages; /* one more than pages: the ends of the list */
	uint32_t ends, cached, room, evicted;
};

static void unlink_page(struct lru *l, uint32_t page)
{
	struct lru_page *p = &l->pages[page];

	l->pages[p->newer].older = p->older;
	l->pages[p->older].newer = p->newer;
}

static void link_newest(struct lru *l, uint32_t page)
{
	struct lru_page *p = &l->pages[page];
	uint32_t newest = l->pages[l->ends].older;

	p->newer = l->ends;
	p->older = newest;
	l->pages[newest].newer = page;
	l->pages[l->ends].older = page;
}

static void evict_page(struct lru *l, uint32_t page)
{
	struct lru_page *p = &l->pages[page];

	unlink_page(l, page);
	p->cached = false;
	p->left = ++l->evicted;
	l->cached--;
}

/* True: the lookup is a refault, with this distance. */
static bool look_up_in_lru(struct lru *l, uint32_t page, uint32_t *ret_distance)
{
	struct lru_page *p = &l->pages[page];
	bool refault = p->known && !p->cached;

	if (p->cached)
		unlink_page(l, page);
	/* Reads the distance when the page comes in; room was made for it before. */
	else if (l->cached == l->room)
		evict_page(l, l->pages[l->ends].newer);
	if (refault)
		*ret_distance = l->evicted - p->left;
	l->cached += !p->cached;
	p->cached = p->known = true;
	link_newest(l, page);
	return refault;
}

static void sum_up_refaults(uint32_t distances[], uint32_t nr, struct refault_model *ret)
{
	double sum = 0;

	*ret = (struct refault_model){.refaults = nr};
	if (!nr)
		return;
	for (uint32_t i = 0; i < nr; i++)
		sum += distances[i];
	qsort(distances, nr, sizeof(*distances), order_u32);
	ret->mean_distance = sum / nr;
	nr /= 2;
	ret->median = distances[nr];
}

int refault_simulate(const struct curve_sample *s, uint32_t cache_pages, struct refault_model *ret)
{
	struct lru l = {.ends = s->nr_pages, .room = cache_pages};
	uint32_t *distances = malloc((s->nr_entries + 1) * sizeof(*distances));
	uint32_t nr = 0;

	l.pages = calloc((size_t)s->nr_pages + 1, sizeof(*l.pages));
	if (!distances || !l.pages) {
		free(distances);
		free(l.pages);
		return -ENOMEM;
	}
	l.pages[l.ends].newer = l.pages[l.ends].older = l.ends;
	for (size_t i = 0; i < s->nr_entries; i++) {
		uint32_t page = curve_entry_page(s->entries[i]);

		if (!curve_entry_removed(s->entries[i]))
			nr += look_up_in_lru(&l, page, &distances[nr]);
		else if (l.pages[page].cached)
			evict_page(&l, page);
	}
	sum_up_refaults(distances, nr, ret);
	free(distances);
	free(l.pages);
	return 0;
}

/* The size of the cache varied. */
#define SIZE_ERROR 0.05

/* The kernel counts distances in batches of 64 pages, so they are too short when pages leave one
 * by one. */
enum { NEIGHBOURS = 64, REFAULTS_MIN = 100 };

static void compare_ratios(const struct curve *c, const struct curve_counted *counted,
			   struct curve_verdict *v)
{
	struct curve_point smaller;
	struct curve_point larger;

	if (counted->present_pages < 0 || counted->miss_low < 0)
		return;
	v->compared = true;
	curve_at(c, counted->present_pages, &v->present);
	curve_at(c, counted->present_pages * (1 - SIZE_ERROR), &smaller);
	curve_at(c, counted->present_pages * (1 + SIZE_ERROR), &larger);
	v->expected_low = larger.low - CURVE_MODEL_ERROR - c->shape.kernel_better_up_to;
	v->expected_high = smaller.high + CURVE_MODEL_ERROR + c->shape.kernel_worse_up_to;
	if (v->expected_low < 0)
		v->expected_low = 0;
	if (v->expected_high > 1)
		v->expected_high = 1;
	v->outside = counted->miss_high < v->expected_low || counted->miss_low > v->expected_high;
}

static int compare_refaults(const struct curve *c, const struct curve_sample *s,
			    const struct curve_counted *counted, struct curve_verdict *v)
{
	struct refault_model model;
	uint32_t size = estimate_size(&c->estimate, counted->present_pages, c->lru.size_max);
	double ratio = 0;
	int ret = 0;

	v->refault_distance = -1;
	if (counted->present_pages < 0 || counted->refaults < REFAULTS_MIN ||
	    counted->refault_distance < 0 || !size)
		return 0;
	ret = refault_simulate(s, size, &model);
	if (ret < 0 || model.refaults < REFAULTS_MIN)
		return ret;
	v->refault_distance = model.mean_distance / c->estimate.rate;
	ratio = counted->refault_distance / v->refault_distance;
	if (ratio > 1 + CURVE_DISAGREEMENT)
		v->refaults = OPINION_OTHER;
	else if (ratio >= 1 - CURVE_DISAGREEMENT)
		v->refaults = OPINION_SAME;
	else
		v->refaults = counted->run_pages >= NEIGHBOURS ? OPINION_OTHER : OPINION_WEAK;
	return 0;
}

static void say_outside(const struct curve_counted *counted, double floor, struct curve_verdict *v)
{
	bool fewer = counted->miss_high < v->expected_low;
	const char *why = "the cache size may have changed during the run, or other jobs may have "
			  "read the same pages";

	if (fewer && counted->miss_high < floor)
		why = "the pages may have been cached before the run, or added by writes or other "
		      "jobs";
	snprintf(v->reason, sizeof(v->reason),
		 "At the present size the measured miss ratio is %.3f, but the curve predicts %.3f "
		 "to %.3f, allowing for the kernel's differences from LRU. Possible cause: %s.",
		 fewer ? counted->miss_high : counted->miss_low, v->expected_low, v->expected_high,
		 why);
}

int curve_judge(const struct curve *c, const struct curve_sample *s,
		const struct curve_counted *counted, struct curve_verdict *ret)
{
	struct curve_verdict v = {.refault_distance = -1};
	int err = 0;

	compare_ratios(c, counted, &v);
	err = compare_refaults(c, s, counted, &v);
	if (err < 0)
		return err;
	if (v.outside)
		say_outside(counted, c->first_touch, &v);
	else if (v.refaults == OPINION_OTHER)
		snprintf(v.reason, sizeof(v.reason),
			 "Model and measurement disagree: pages were read again after %.0f "
			 "evictions on average, but the curve predicts %.0f, which differs by more "
			 "than %.0f %%.",
			 counted->refault_distance, v.refault_distance, CURVE_DISAGREEMENT * 100);
	human_group(v.reason, sizeof(v.reason));
	v.uncertain = v.outside || v.refaults == OPINION_OTHER;
	*ret = v;
	return 0;
}
