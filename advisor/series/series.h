/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings in a job's intervals and its earlier runs that no rule covers: where a figure changed,
 * which intervals stand out, which figures correlate, and how this run compares with the job's own
 * history. Owns the types of the outcome. Deterministic: the same database gives the same answer.
 */
#ifndef SERIES_H
#define SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/errtext.h"
#include "cachemon/base/optional.h"

enum {
	SERIES_CELLS_MIN = 20, /* fewer do not show what is usual */
	SERIES_CHANGES_MAX = 12,
	SERIES_ANOMALIES_MAX = 5,
	SERIES_LINKS_MAX = 5,
	SERIES_RUNS_MIN = 4, /* earlier runs needed to know what is usual */
};

/* The significance level, for p corrected for everything examined in a job. */
#define SERIES_LEVEL 0.01

/* A figure of each interval: rates are per second, ratios 0..1; "tasks" and "CPUs" are the mean
 * number of tasks asleep for the page cache, and of CPUs in use. */
struct series_metric {
	const char *name;  /* "misses_per_s", "hit_ratio", "stall_share" */
	const char *title; /* for people: "misses" */
	const char
		*unit; /* "pages/s", "bytes/s", "ratio", "tasks", "CPUs"; of history "pages", "s" */
};

/* A level that lasts after at_ns. */
struct series_change {
	const struct series_metric *metric;
	int64_t at_ns;	      /* since the start of the run */
	double before, after; /* medians of the stretches before and after it */
	double p;	      /* corrected for everything examined in the job */
};

/* One interval or several consecutive ones, far from their neighbourhood. */
struct series_anomaly {
	const struct series_metric *metric;
	int64_t start_ns, duration_ns;
	double value;	  /* the most extreme value */
	double low, high; /* the usual range */
	double score;	  /* robust standard deviations from the median of its stretch */
};

/* Two correlated figures, b after a by lag_ns (0: at the same time). */
struct series_link {
	const struct series_metric *a, *b;
	int64_t lag_ns; /* at least 0: a comes first */
	double rho; /* rank correlation, -1..1, after what each one's past explains is removed */
	double p;   /* corrected for all pairs and lags */
	size_t intervals;
};

/* A figure of the whole run and those of the job's earlier runs in this database. */
struct series_history {
	const struct series_metric *metric;
	double value, median;
	/* Contains 99 of 100 runs like the earlier ones, for all figures together. */
	double low, high;
	size_t runs;  /* comparable earlier runs */
	bool unusual; /* outside of low..high */
	/* Known if the figure rises or falls from run to run (p < 0.01). */
	struct opt_f64 trend_per_run;
};

struct series_job {
	int64_t job_id;
	const char *absent; /* why its intervals were not analysed; NULL: they were */
	size_t intervals;   /* analysed stretches of equal length */
	int64_t interval_ns;
	int64_t from_ns; /* start of the analysis: earlier rows are too coarse; 0: none are */
	const struct series_metric **metrics; /* the analysed ones */
	size_t nr_metrics;
	struct series_change *changes; /* by time */
	size_t nr_changes, more_changes;
	struct series_anomaly *anomalies; /* the most extreme one first */
	size_t nr_anomalies, more_anomalies;
	struct series_link *links; /* the strongest one first */
	size_t nr_links, more_links;
	const char *history_absent; /* the reason if absent, else NULL */
	struct series_history *history;
	size_t nr_history;
};

struct sqlite3;
/* For a run whose views_create() was called. The contents of ret live as long as the arena. 0 or
 * -errno. */
int series_load(struct sqlite3 *db, int64_t job_id, struct arena *arena, struct series_job *ret,
		struct errtext *err);

#endif
