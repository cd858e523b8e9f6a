/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/wording/pack_impl.h"

static const char COMPUTED[] = "computed";
static const char CACHE[] = "a cache of the job, what readahead brought counted as missed";

static struct opt_f64 real(double v)
{
	return (struct opt_f64){v, isfinite(v)};
}

static struct opt_i64 bytes_of(const struct job_curve *c, double pages)
{
	double bytes = pages * (double)c->facts.page_size_bytes;

	return (struct opt_i64){.value = pages >= 0 ? llround(bytes) : 0, .known = pages >= 0};
}

/* The hit ratio of a cache of this size. */
static void put_size(struct packer *k, const struct job_curve *c, const char *name, double pages)
{
	struct curve_point p;
	char metric[64];

	if (pages < 0)
		return;
	curve_at(&c->curve, pages, &p);
	snprintf(metric, sizeof(metric), "whatif.cache.%s.cache_bytes", name);
	packer_count(k, metric, bytes_of(c, pages), "bytes", CACHE, COMPUTED);
	snprintf(metric, sizeof(metric), "whatif.cache.%s.hit_ratio", name);
	packer_real(k, metric, real(1 - p.miss), "ratio", CACHE, COMPUTED);
}

static void put_curve(struct packer *k, const struct job_curve *c)
{
	struct curve_mark marks[CURVE_MARKS];
	struct curve_need need = {-1, -1, -1};

	if (!c->there || c->verdict.uncertain)
		return;
	curve_marks(c, marks);
	for (int i = 0; i < CURVE_MARKS; i++)
		put_size(k, c, marks[i].key, marks[i].pages);
	curve_need(&c->curve, 0.9, &need);
	put_size(k, c, "needs_90", need.pages);
	packer_real(k, "whatif.cache.first_touch_ratio", real(c->curve.first_touch), "ratio",
		    "lookups, which no cache makes hits", COMPUTED);
}

static void put_figure(struct packer *k, const struct whatif_sum *sum, int figure,
		       const char *metric, const char *setting)
{
	struct opt_i64 v = {0};

	v.known = sum->known && isfinite(sum->figure[figure]) && sum->figure[figure] >= 0;
	if (v.known)
		v.value = llround(sum->figure[figure]);
	packer_count(k, metric, v, "pages", setting, COMPUTED);
}

/* What was in force beside the best setting. */
static void put_readahead(struct packer *k, const struct whatif_readahead *w, bool mapped)
{
	int best = whatif_readahead_best(w, mapped);
	const int candidates[] = {WHATIF_ACTUAL, best};

	if (best < 0)
		return;
	for (size_t i = 0; i < 2 - (best == WHATIF_ACTUAL); i++) {
		struct whatif_sum sum = {0};
		char setting[64];
		char scope[128];

		whatif_readahead_sum(w, mapped, (size_t)candidates[i], &sum);
		whatif_setting_name((size_t)candidates[i],
				    w->nr_files ? w->files[0].device_pages : 0, setting,
				    sizeof(setting));
		snprintf(scope, sizeof(scope), "%s%s, %s",
			 mapped ? "mapped files, " : "read files, ", setting,
			 i ? "best of the settings" : "in force");
		put_figure(k, &sum, WHATIF_MISSES, "whatif.readahead.misses", scope);
		if (whatif_figure_seen(mapped, WHATIF_WASTED))
			put_figure(k, &sum, WHATIF_WASTED, "whatif.readahead.wasted_pages", scope);
	}
}

void pack_of_models(struct packer *k)
{
	const struct analysis *a = k->from->model->analysis;
	const struct analysis_model *models = a ? analysis_model_of(a, k->from->job->id) : NULL;
	size_t last = k->p->nr_evidence + k->bounds->of_models;

	if (models) {
		put_curve(k, &models->curve);
		put_readahead(k, &models->readahead, false);
		put_readahead(k, &models->readahead, true);
	}
	if (k->p->nr_evidence > last)
		k->p->nr_evidence = last;
}
