/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/figures/show.h"
#include "cachemon/wording/pack_impl.h"

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
