/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
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
	const struct counts *c = &k->from->job->counts;

	packer_count(k, metric, counts_get(c, which), unit, JOB, quality_of(c, which));
}

/* "A": a letter and its score. */
static void put_grades(struct packer *k, const struct analysis_job *a)
{
	for (int i = 0; i < GRADE_NR; i++) {
		const struct analysis_grade *g = &a->grades[i];
		char metric[48];
		char value[16];

		if (!g->letter)
			continue;
		snprintf(metric, sizeof(metric), "grades.%s", grade_names[i]);
		snprintf(value, sizeof(value), "%s", g->letter);
		packer_add(k, &(struct pack_figure){metric, value, "grade", JOB, "", true});
	}
}

static void put_ratios(struct packer *k)
{
	const struct counts *c = &k->from->job->counts;
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

static void put_waits(struct packer *k, const struct analysis_job *a)
{
	const struct model_job *job = k->from->job;
	struct opt_f64 stalled = a->ceiling.overall;

	stalled.value = 1 - stalled.value;
	packer_real(k, "stall_share", stalled, "ratio", "job, of its time",
		    a->several ? "mean over its tasks" : "");
	put_counter(k, "stall_ns", C_stall_ns, "ns");
	packer_count(k, "wall_ns", job->wall_ns, "ns", JOB, "");
	packer_count(k, "cpu_ns", job->cpu_ns, "ns", JOB, "");
}

/* What matters most first: the rest is left out where room is short. */
void pack_of_job(struct packer *k)
{
	const struct model *m = k->from->model;
	const struct analysis_job *a =
		m->analysis ? analysis_job_of(m->analysis, k->from->job->id) : NULL;
	size_t last = k->p->nr_evidence + k->bounds->of_job;

	if (a)
		put_waits(k, a);
	put_ratios(k);
	put_counter(k, "lookups", C_lookups, "pages");
	put_counter(k, "misses", C_misses, "pages");
	put_counter(k, "read_bytes", C_read_bytes, "bytes");
	put_counter(k, "refaults", C_refaults, "pages");
	put_counter(k, "refault_misses", C_refault_misses, "pages");
	if (a)
		put_grades(k, a);
	put_counter(k, "delayed_hits", C_delayed_hits, "pages");
	put_counter(k, "read_calls", C_read_calls, "calls");
	put_counter(k, "direct_read_bytes", C_direct_read_bytes, "bytes");
	put_counter(k, "faults.major", C_faults_major, "faults");
	put_counter(k, "written_pages", C_written_pages, "pages");
	packer_count(k, "processes", k->from->job->processes, "processes", JOB, "");
	packer_real(k, "cost.share_of_job_cpu",
		    m->run.cost_share.known ? m->run.cost_share : m->run.share_of_job_cpu, "ratio",
		    "the measuring", "");
	if (k->p->nr_evidence > last)
		k->p->nr_evidence = last;
}

/* "ext4, nfs4" */
static void put_filesystems(struct packer *k)
{
	const struct model_job *job = k->from->job;

	for (size_t i = 0; i < job->nr_filesystems && i < 4; i++) {
		const struct model_filesystem *f = &job->filesystems[i];

		if (f->type.data)
			packer_fact(k, "filesystem %.*s: %.*s", (int)f->type.len, f->type.data,
				    (int)f->cover.len, f->cover.data ? f->cover.data : "");
	}
}

/* What the figures of the job cannot say themselves. */
static void put_doubts(struct packer *k)
{
	const struct model_job *job = k->from->job;
	struct range r;

	if (counts_mapped(&job->counts, job->processes))
		packer_fact(k, "the job reads through mappings: its lookups and hit ratio are of "
			       "read calls alone, which as a rule are a program's start");
	for (enum read_estimate e = 0; e < ESTIMATES; e++)
		if (counts_range(&job->counts, e, &r))
			packer_fact(k, "%s is an estimate, with a 90 %% interval of %.12g to %.12g",
				    estimate_name(e), r.low.value, r.high.value);
}

void pack_facts(struct packer *k)
{
	const struct model_run *run = &k->from->model->run;

	packer_fact(k, "kernel %.*s, %.*s, memory %s, a page is %s", (int)run->kernel.len,
		    run->kernel.data ? run->kernel.data : "", (int)run->arch.len,
		    run->arch.data ? run->arch.data : "", show_bytes(run->memory_bytes, false).s,
		    show_bytes(run->page_size_bytes, false).s);
	packer_fact(k, "measured at level %.*s%s", (int)run->level.len,
		    run->level.data ? run->level.data : "",
		    run->sliced.known && run->sliced.value ? ", by samples" : "");
	put_doubts(k);
	put_filesystems(k);
	for (size_t i = 0; i < k->from->model->nr_unmeasured && i < 6; i++) {
		const struct model_unmeasured *u = &k->from->model->unmeasured[i];

		packer_fact(k, "not measured: %.*s: %.*s", (int)u->counter.len, u->counter.data,
			    (int)u->reason.len, u->reason.data);
	}
}

/* Of each kind; what is most telling comes first. */
enum { CHANGES_MAX = 4, ANOMALIES_MAX = 3, LINKS_MAX = 4, HISTORY_MAX = 4 };

static struct shown at_time(int64_t ns)
{
	return show_ns((struct opt_i64){ns, true});
}

static void put(struct packer *k, const struct series_metric *m, const char *what, double value,
		const char *unit, const char *scope)
{
	char metric[96];

	snprintf(metric, sizeof(metric), "%s.%s", what, m->name);
	packer_real(k, metric, (struct opt_f64){value, isfinite(value)}, unit ? unit : m->unit,
		    scope, "");
}

static void put_change(struct packer *k, const struct series_change *c)
{
	char scope[96];

	snprintf(scope, sizeof(scope), "until %s into the run", at_time(c->at_ns).s);
	put(k, c->metric, "change.before", c->before, NULL, scope);
	snprintf(scope, sizeof(scope), "from %s on", at_time(c->at_ns).s);
	put(k, c->metric, "change.after", c->after, NULL, scope);
	snprintf(scope, sizeof(scope), "when %s changed", c->metric->title);
	put(k, c->metric, "change.at", (double)c->at_ns, "ns", scope);
}

static void put_anomaly(struct packer *k, const struct series_anomaly *a)
{
	char scope[160];

	snprintf(scope, sizeof(scope), "at %s, for %s", at_time(a->start_ns).s,
		 at_time(a->duration_ns).s);
	put(k, a->metric, "outlier", a->value, NULL, scope);
	put(k, a->metric, "usual.low", a->low, NULL, "around it");
	put(k, a->metric, "usual.high", a->high, NULL, "around it");
}

static void put_link(struct packer *k, const struct series_link *l)
{
	char metric[128];
	char scope[160];

	snprintf(metric, sizeof(metric), "correlation.%s.%s", l->a->name, l->b->name);
	if (l->lag_ns)
		snprintf(scope, sizeof(scope), "%s follow %s by %s; rank correlation", l->b->title,
			 l->a->title, at_time(l->lag_ns).s);
	else
		snprintf(scope, sizeof(scope), "%s and %s move together; rank correlation",
			 l->a->title, l->b->title);
	packer_real(k, metric, (struct opt_f64){l->rho, isfinite(l->rho)}, "", scope, "");
}

static void put_history(struct packer *k, const struct series_history *h)
{
	char scope[96];

	if (!h->unusual && !h->trend_per_run.known)
		return;
	put(k, h->metric, "this_run", h->value, NULL,
	    h->unusual ? "unusual beside earlier runs" : "this run");
	snprintf(scope, sizeof(scope), "%zu earlier runs", h->runs);
	put(k, h->metric, "earlier_runs.median", h->median, NULL, scope);
	if (h->trend_per_run.known)
		put(k, h->metric, "earlier_runs.trend", h->trend_per_run.value, NULL,
		    "more from run to run");
}

void pack_of_series(struct packer *k)
{
	const struct analysis *a = k->from->model->analysis;
	const struct series_job *s = a ? analysis_series_of(a, k->from->job->id) : NULL;
	size_t last = k->p->nr_evidence + k->bounds->of_series;

	if (!s)
		return;
	for (size_t i = 0; i < s->nr_changes && i < CHANGES_MAX; i++)
		put_change(k, &s->changes[i]);
	for (size_t i = 0; i < s->nr_history && i < HISTORY_MAX; i++)
		put_history(k, &s->history[i]);
	for (size_t i = 0; i < s->nr_links && i < LINKS_MAX; i++)
		put_link(k, &s->links[i]);
	for (size_t i = 0; i < s->nr_anomalies && i < ANOMALIES_MAX; i++)
		put_anomaly(k, &s->anomalies[i]);
	if (k->p->nr_evidence > last)
		k->p->nr_evidence = last;
}

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
