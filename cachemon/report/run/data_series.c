/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/findings.h"

#include <inttypes.h>

enum { NS_PER_S = 1000000000 };

/* Nanoseconds as seconds, to the last digit. */
static void put_seconds(struct tree *t, const char *key, int64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRId64 ".%09" PRId64, ns / NS_PER_S, ns % NS_PER_S);
	tree_number(t, key, text);
}

static void put_metric(struct tree *t, const struct series_metric *m)
{
	tree_string(t, "metric", m->name);
	tree_string(t, "unit", m->unit);
}

static void put_changes(struct tree *t, const struct series_job *s)
{
	tree_array(t, "changes");
	for (size_t i = 0; i < s->nr_changes; i++) {
		const struct series_change *c = &s->changes[i];

		tree_object(t, NULL);
		put_metric(t, c->metric);
		put_seconds(t, "at_s", c->at_ns);
		tree_double(t, "before", c->before);
		tree_double(t, "after", c->after);
		tree_double(t, "p", c->p);
		tree_end(t);
	}
	tree_end(t);
	tree_uint(t, "more_changes", s->more_changes);
}

static void put_anomalies(struct tree *t, const struct series_job *s)
{
	tree_array(t, "anomalies");
	for (size_t i = 0; i < s->nr_anomalies; i++) {
		const struct series_anomaly *a = &s->anomalies[i];

		tree_object(t, NULL);
		put_metric(t, a->metric);
		put_seconds(t, "start_s", a->start_ns);
		put_seconds(t, "duration_s", a->duration_ns);
		tree_double(t, "value", a->value);
		tree_double(t, "low", a->low);
		tree_double(t, "high", a->high);
		tree_double(t, "score", a->score);
		tree_end(t);
	}
	tree_end(t);
	tree_uint(t, "more_anomalies", s->more_anomalies);
}

static void put_links(struct tree *t, const struct series_job *s)
{
	tree_array(t, "links");
	for (size_t i = 0; i < s->nr_links; i++) {
		const struct series_link *l = &s->links[i];

		tree_object(t, NULL);
		tree_string(t, "a", l->a->name);
		tree_string(t, "b", l->b->name);
		put_seconds(t, "lag_s", l->lag_ns);
		tree_double(t, "rho", l->rho);
		tree_double(t, "p", l->p);
		tree_uint(t, "intervals", l->intervals);
		tree_end(t);
	}
	tree_end(t);
	tree_uint(t, "more_links", s->more_links);
}

static void put_history(struct tree *t, const struct series_job *s)
{
	tree_string(t, "history_reason", s->history_absent);
	tree_array(t, "history");
	for (size_t i = 0; i < s->nr_history; i++) {
		const struct series_history *h = &s->history[i];

		tree_object(t, NULL);
		put_metric(t, h->metric);
		tree_double(t, "value", h->value);
		tree_double(t, "median", h->median);
		tree_double(t, "low", h->low);
		tree_double(t, "high", h->high);
		tree_uint(t, "runs", h->runs);
		tree_bool(t, "unusual", h->unusual);
		tree_opt_double(t, "trend_per_run", h->trend_per_run);
		tree_end(t);
	}
	tree_end(t);
}

void data_series(struct tree *t, const struct series_job *s)
{
	tree_object(t, "series");
	tree_string(t, "reason", s->absent);
	tree_uint(t, "intervals", s->intervals);
	put_seconds(t, "interval_s", s->interval_ns);
	put_seconds(t, "from_s", s->from_ns);
	tree_array(t, "metrics");
	for (size_t i = 0; i < s->nr_metrics; i++)
		tree_string(t, NULL, s->metrics[i]->name);
	tree_end(t);
	put_changes(t, s);
	put_anomalies(t, s);
	put_links(t, s);
	put_history(t, s);
	tree_end(t);
}
