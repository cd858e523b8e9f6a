/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_cache.h"

#include <math.h>

static void put_pages(struct tree *t, const struct job_curve *c, const char *pages_key,
		      const char *bytes_key, double pages)
{
	if (pages < 0) {
		tree_null(t, pages_key);
		tree_null(t, bytes_key);
		return;
	}
	tree_int(t, pages_key, llround(pages));
	tree_int(t, bytes_key, llround(pages) * (int64_t)c->facts.page_size_bytes);
}

/* Hits and misses swap the ends of a band: the low miss ratio is the high hit ratio. */
static void put_point(struct tree *t, const struct job_curve *c, const struct curve_point *p)
{
	put_pages(t, c, "cache_pages", "cache_bytes", p->cache_pages);
	tree_double(t, "hit_ratio", 1 - p->miss);
	tree_double(t, "hit_ratio_low", 1 - p->high);
	tree_double(t, "hit_ratio_high", 1 - p->low);
	tree_double(t, "opt_hit_ratio", 1 - p->opt);
	tree_double(t, "opt_hit_ratio_low", 1 - p->opt_high);
	tree_double(t, "opt_hit_ratio_high", 1 - p->opt_low);
}

static void put_ratio(struct tree *t, const char *key, double ratio)
{
	tree_double(t, key, ratio < 0 ? NAN : ratio);
}

static void put_marks(struct tree *t, const struct job_curve *c)
{
	struct curve_mark marks[CURVE_MARKS];

	curve_marks(c, marks);
	tree_object(t, "marks");
	for (int i = 0; i < CURVE_MARKS; i++) {
		struct curve_point p;

		if (!tree_opt_object(t, marks[i].key, marks[i].pages >= 0))
			continue;
		curve_at(&c->curve, marks[i].pages, &p);
		put_point(t, c, &p);
		tree_end(t);
	}
	tree_end(t);
}

static void put_needs(struct tree *t, const struct job_curve *c)
{
	static const double wanted[] = {0.5, 0.8, 0.9, 0.95, 0.99};

	tree_array(t, "needs");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct curve_need need = {-1, -1, -1};

		if (!c->verdict.uncertain)
			curve_need(&c->curve, wanted[i], &need);
		tree_object(t, NULL);
		tree_double(t, "hit_ratio", wanted[i]);
		put_pages(t, c, "cache_pages", "cache_bytes", need.pages);
		put_pages(t, c, "cache_pages_low", "cache_bytes_low", need.pages_low);
		put_pages(t, c, "cache_pages_high", "cache_bytes_high", need.pages_high);
		tree_end(t);
	}
	tree_end(t);
}

static void put_check(struct tree *t, const struct job_curve *c)
{
	static const char *const opinions[] = {"none", "weak", "same", "other"};
	const struct curve_counted *counted = &c->facts.counted;
	const struct curve_verdict *v = &c->verdict;

	tree_object(t, "check");
	put_ratio(t, "measured_hit_ratio", counted->miss_high < 0 ? -1 : 1 - counted->miss_high);
	put_ratio(t, "measured_hit_ratio_high", counted->miss_low < 0 ? -1 : 1 - counted->miss_low);
	put_ratio(t, "expected_hit_ratio_low", v->compared ? 1 - v->expected_high : -1);
	put_ratio(t, "expected_hit_ratio_high", v->compared ? 1 - v->expected_low : -1);
	if (v->compared)
		tree_bool(t, "outside", v->outside);
	else
		tree_null(t, "outside");
	tree_object(t, "refaults");
	put_ratio(t, "mean_distance_pages", counted->refault_distance);
	put_ratio(t, "expected_distance_pages", v->refault_distance);
	tree_string(t, "opinion", opinions[v->refaults]);
	tree_end(t);
	tree_bool(t, "uncertain", v->uncertain);
	tree_string(t, "reason", *v->reason ? v->reason : NULL);
	tree_end(t);
}

static void put_model(struct tree *t, const struct curve *curve)
{
	static const char *const orders[] = {"none", "same", "shuffled"};
	const struct curve_shape *s = &curve->shape;

	tree_object(t, "model");
	tree_string(t, "estimator", curve->estimate.by_threshold ? "threshold" : "known-totals");
	tree_double(t, "error", CURVE_MODEL_ERROR);
	tree_double(t, "kernel_better_up_to", s->kernel_better_up_to);
	tree_double(t, "kernel_worse_up_to", s->kernel_worse_up_to);
	tree_double(t, "epochs", s->epochs);
	tree_string(t, "order", orders[s->order]);
	tree_bool(t, "hot_pages_move", s->hot_moves);
	tree_end(t);
}

static void put_sample(struct tree *t, const struct job_curve *c)
{
	const struct estimate *e = &c->curve.estimate;

	tree_object(t, "sample");
	tree_int(t, "pages", e->nr_pages);
	tree_double(t, "share", e->rate);
	tree_int(t, "lookups", llround(c->sampled_lookups));
	tree_int(t, "distinct_pages", llround(e->distinct_pages));
	tree_double(t, "distinct_pages_error", e->distinct_error);
	tree_bool(t, "whole", !c->broken);
	tree_string(t, "broken_reason", c->broken ? c->why_broken : NULL);
	tree_end(t);
}

void whatif_cache_json(struct tree *t, const struct job_curve *c)
{
	double distances[CURVE_DISTANCES];

	tree_string(t, "absent", c->there ? NULL : c->absent);
	if (!tree_opt_object(t, "curve", c->there))
		return;
	put_sample(t, c);
	put_model(t, &c->curve);
	tree_double(t, "first_touch_ratio", c->curve.first_touch);
	tree_double(t, "removed_again_ratio", c->curve.removed_again);
	curve_distances(&c->curve, distances);
	tree_line(t, "reuse_distance_pages_log2");
	for (int i = 0; i < CURVE_DISTANCES; i++)
		tree_double(t, NULL, distances[i]);
	tree_end(t);
	tree_array(t, "points");
	for (size_t i = 0; i < c->curve.nr_sizes; i++) {
		struct curve_point p;

		curve_shown(&c->curve, i, &p);
		tree_object(t, NULL);
		put_point(t, c, &p);
		tree_end(t);
	}
	tree_end(t);
	put_marks(t, c);
	put_needs(t, c);
	put_check(t, c);
	tree_end(t);
}
