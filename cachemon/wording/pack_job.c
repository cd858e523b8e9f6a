/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/figures/show.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/wording/pack_impl.h"

static const char JOB[] = "job";

static const char *quality_of(const struct counts *c, enum counter which)
{
	if (counts_estimated(c, which))
		return "estimated";
	return counts_lower_bound(c, which) ? "at least" : "";
}

static const char *quality_of_ratio(const struct range *r)
{
	return r->low.known ? "estimated" : "";
}

static void put_counter(struct packer *k, const char *metric, enum counter which, const char *unit)
{
	const struct counts *c = &k->job->counts;

	packer_count(k, metric, counts_get(c, which), unit, JOB, quality_of(c, which));
}

/* "A": a letter and its score. */
static void put_grades(struct packer *k)
{
	for (int i = 0; i < GRADE_NR; i++)
		if (k->a->grades[i].letter)
			packer_add(k,
				   &(struct pack_evidence){
					   .metric = packer_format(k, "grades.%s", grade_names[i]),
					   .value = k->a->grades[i].letter,
					   .unit = "grade",
					   .scope = JOB,
					   .is_text = true,
				   });
}

static void put_ratios(struct packer *k)
{
	const struct counts *c = &k->job->counts;
	struct derived d;

	counts_derive(c, k->from->model->run.page_size_bytes.value, &d);
	packer_real(k, "hit_ratio", d.hit_ratio, "ratio", JOB, c->sliced ? "estimated" : "");
	packer_real(k, "prefetch.accuracy", d.accuracy, "ratio", JOB,
		    quality_of_ratio(&d.accuracy_range));
	packer_real(k, "prefetch.coverage", d.coverage, "ratio", JOB,
		    quality_of_ratio(&d.coverage_range));
	packer_real(k, "prefetch.timeliness", d.timeliness, "ratio", JOB,
		    quality_of_ratio(&d.timeliness_range));
	packer_count(k, "prefetched_pages", d.prefetched_pages, "pages", JOB, "");
	packer_count(k, "evicted_pages", d.evicted_pages, "pages", JOB,
		     quality_of(c, C_evicted_other));
	packer_count(k, "waste_bytes", d.waste_bytes, "bytes", JOB,
		     quality_of(c, C_evicted_unused));
}

static void put_waits(struct packer *k)
{
	struct opt_f64 stalled = k->a->ceiling.overall;

	stalled.value = 1 - stalled.value;
	packer_real(k, "stall_share", stalled, "ratio", "job, of its time",
		    k->a->several ? "mean over its tasks" : "");
	put_counter(k, "stall_ns", C_stall_ns, "ns");
	packer_count(k, "wall_ns", k->job->wall_ns, "ns", JOB, "");
	packer_count(k, "cpu_ns", k->job->cpu_ns, "ns", JOB, "");
}

void pack_of_job(struct packer *k)
{
	const struct model_run *run = &k->from->model->run;

	if (k->a)
		put_waits(k);
	put_ratios(k);
	put_counter(k, "lookups", C_lookups, "pages");
	put_counter(k, "misses", C_misses, "pages");
	put_counter(k, "read_bytes", C_read_bytes, "bytes");
	put_counter(k, "refaults", C_refaults, "pages");
	put_counter(k, "refault_misses", C_refault_misses, "pages");
	if (k->a)
		put_grades(k);
	put_counter(k, "delayed_hits", C_delayed_hits, "pages");
	put_counter(k, "read_calls", C_read_calls, "calls");
	put_counter(k, "direct_read_bytes", C_direct_read_bytes, "bytes");
	put_counter(k, "faults.major", C_faults_major, "faults");
	put_counter(k, "written_pages", C_written_pages, "pages");
	packer_count(k, "processes", k->job->processes, "processes", JOB, "");
	packer_real(k, "cost.share_of_job_cpu",
		    run->cost_share.known ? run->cost_share : run->share_of_job_cpu, "ratio",
		    "the measuring", "");
}

/* Bytes that may be absent. */
#define TEXT(b) ((b).data ?: "")

void pack_facts(struct packer *k)
{
	const struct model *m = k->from->model;
	const struct model_run *run = &m->run;
	const struct model_job *job = k->job;
	struct range r;

	packer_fact(k, "kernel %s, %s, memory %s, a page is %s", TEXT(run->kernel), TEXT(run->arch),
		    show_bytes(run->memory_bytes, false).s,
		    show_bytes(run->page_size_bytes, false).s);
	packer_fact(k, "measured at level %s%s", TEXT(run->level),
		    run->sliced.known && run->sliced.value ? ", by samples" : "");
	/* Results that the figures of the job do not show. */
	if (counts_mapped(&job->counts, job->processes))
		packer_fact(k, "the job reads through mappings: its lookups and hit ratio cover "
			       "only read calls, and programs make most of these while they start");
	for (enum read_estimate e = 0; e < ESTIMATES; e++)
		if (counts_range(&job->counts, e, &r))
			packer_fact(k, "%s is an estimate, with a 90 %% interval of %.12g to %.12g",
				    estimate_name(e), r.low.value, r.high.value);
	for (size_t i = 0; i < job->nr_filesystems && i < 4; i++)
		if (job->filesystems[i].type.data)
			packer_fact(k, "filesystem %s: %s", TEXT(job->filesystems[i].type),
				    TEXT(job->filesystems[i].cover));
	for (size_t i = 0; i < m->nr_unmeasured && i < 6; i++)
		packer_fact(k, "not measured: %s: %s", TEXT(m->unmeasured[i].counter),
			    TEXT(m->unmeasured[i].reason));
}

/* Per kind; the most informative first. */
enum { CHANGES_MAX = 4, ANOMALIES_MAX = 3, LINKS_MAX = 4, HISTORY_MAX = 4 };

static struct shown at_time(int64_t ns)
{
	return show_ns((struct opt_i64){ns, true});
}

static struct opt_f64 real(double v)
{
	return (struct opt_f64){v, isfinite(v)};
}

static void put_series(struct packer *k, const struct series_metric *m, const char *what,
		       double value, const char *unit, const char *scope)
{
	packer_real(k, packer_format(k, "%s.%s", what, m->name), real(value), unit ? unit : m->unit,
		    scope, "");
}

static void put_change(struct packer *k, const struct series_change *c)
{
	const char *at = packer_format(k, "%s", at_time(c->at_ns).s);

	put_series(k, c->metric, "change.before", c->before, NULL,
		   packer_format(k, "until %s into the run", at));
	put_series(k, c->metric, "change.after", c->after, NULL,
		   packer_format(k, "from %s on", at));
	put_series(k, c->metric, "change.at", (double)c->at_ns, "ns",
		   packer_format(k, "when %s changed", c->metric->title));
}

static void put_anomaly(struct packer *k, const struct series_anomaly *a)
{
	put_series(k, a->metric, "outlier", a->value, NULL,
		   packer_format(k, "at %s, for %s", at_time(a->start_ns).s,
				 at_time(a->duration_ns).s));
	put_series(k, a->metric, "usual.low", a->low, NULL, "around it");
	put_series(k, a->metric, "usual.high", a->high, NULL, "around it");
}

static void put_link(struct packer *k, const struct series_link *l)
{
	const char *how = l->lag_ns ? packer_format(k, "%s follow %s by %s; rank correlation",
						    l->b->title, l->a->title, at_time(l->lag_ns).s)
				    : packer_format(k, "%s and %s move together; rank correlation",
						    l->a->title, l->b->title);

	packer_real(k, packer_format(k, "correlation.%s.%s", l->a->name, l->b->name), real(l->rho),
		    "", how, "");
}

static void put_history(struct packer *k, const struct series_history *h)
{
	if (!h->unusual && !h->trend_per_run.known)
		return;
	put_series(k, h->metric, "this_run", h->value, NULL,
		   h->unusual ? "unusual compared with earlier runs" : "this run");
	put_series(k, h->metric, "earlier_runs.median", h->median, NULL,
		   packer_format(k, "%zu earlier runs", h->runs));
	if (h->trend_per_run.known)
		put_series(k, h->metric, "earlier_runs.trend", h->trend_per_run.value, NULL,
			   "change per run");
}

void pack_of_series(struct packer *k)
{
	const struct series_job *s = analysis_series_of(k->from->model->analysis, k->job->id);

	for (size_t i = 0; s && i < s->nr_changes && i < CHANGES_MAX; i++)
		put_change(k, &s->changes[i]);
	for (size_t i = 0; s && i < s->nr_history && i < HISTORY_MAX; i++)
		put_history(k, &s->history[i]);
	for (size_t i = 0; s && i < s->nr_links && i < LINKS_MAX; i++)
		put_link(k, &s->links[i]);
	for (size_t i = 0; s && i < s->nr_anomalies && i < ANOMALIES_MAX; i++)
		put_anomaly(k, &s->anomalies[i]);
}

static const char COMPUTED[] = "computed";
static const char CACHE[] =
	"a cache for this job alone; pages brought by readahead count as missed";

/* The hit ratio of a cache of this size. */
static void put_size(struct packer *k, const struct job_curve *c, const char *name, double pages)
{
	struct curve_point p;

	if (pages < 0)
		return;
	curve_at(&c->curve, pages, &p);
	packer_count(k, packer_format(k, "whatif.cache.%s.cache_bytes", name),
		     opt_round(real(pages * c->facts.page_size_bytes)), "bytes", CACHE, COMPUTED);
	packer_real(k, packer_format(k, "whatif.cache.%s.hit_ratio", name), real(1 - p.miss),
		    "ratio", CACHE, COMPUTED);
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
		    "lookups; no cache turns first touches into hits", COMPUTED);
}

static void put_figure(struct packer *k, const struct whatif_sum *sum, int figure,
		       const char *metric, const char *setting)
{
	struct opt_i64 v = opt_round(real(sum->figure[figure]));

	v.known &= sum->known;
	packer_count(k, metric, v, "pages", setting, COMPUTED);
}

/* The actual setting, next to the best one. */
static void put_readahead(struct packer *k, const struct whatif_readahead *w, bool mapped)
{
	int best = whatif_readahead_best(w, mapped);
	const int candidates[] = {WHATIF_ACTUAL, best};

	for (size_t i = 0; best >= 0 && i < 2 - (best == WHATIF_ACTUAL); i++) {
		struct whatif_sum sum = {0};
		char setting[64];
		const char *scope;

		whatif_readahead_sum(w, mapped, (size_t)candidates[i], &sum);
		whatif_setting_name((size_t)candidates[i],
				    w->nr_files ? w->files[0].device_pages : 0, setting,
				    sizeof(setting));
		scope = packer_format(k, "%s%s, %s", mapped ? "mapped files, " : "read files, ",
				      setting, i ? "best of the settings" : "in force");
		put_figure(k, &sum, WHATIF_MISSES, "whatif.readahead.misses", scope);
		if (whatif_figure_seen(mapped, WHATIF_WASTED))
			put_figure(k, &sum, WHATIF_WASTED, "whatif.readahead.wasted_pages", scope);
	}
}

void pack_of_models(struct packer *k)
{
	const struct analysis_model *models =
		analysis_model_of(k->from->model->analysis, k->job->id);

	if (!models)
		return;
	put_curve(k, &models->curve);
	put_readahead(k, &models->readahead, false);
	put_readahead(k, &models->readahead, true);
}
