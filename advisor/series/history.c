/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/history.h"

#include <math.h>

#include "cachemon/figures/counters.h"
#include "advisor/stats/student.h"
#include "advisor/series/stats.h"
#include "advisor/series/trend.h"

/* Runs of one job on one machine differ by a few per cent: what is nearer to their median than a
 * twentieth of it is never unusual, however alike a few of them were. */
#define ALIKE_SHARE 0.05
/* A figure that moved by less over all runs does not go anywhere. */
#define TREND_SHARE 0.1

static const struct {
	struct series_metric metric;
	double least; /* a difference below it does not matter; in the unit */
	bool ratio;   /* else the logarithm is what is alike from run to run */
} figures[PAST_NR] = {
	[PAST_WALL] = {{"wall_s", "run time", "s"}, 0.1, false},
	[PAST_CPU] = {{"cpu_s", "CPU time", "s"}, 0.1, false},
	[PAST_STALL] = {{"stall_s", "stall", "s"}, 0.1, false},
	[PAST_HIT_RATIO] = {{"hit_ratio", LABEL_hit_ratio, "ratio"}, 0.02, true},
	[PAST_MISSES] = {{"misses", "misses", "pages"}, 256, false},
	[PAST_PREFETCHED] = {{"prefetched_pages", "prefetched pages", "pages"}, 256, false},
	[PAST_WASTED] = {{"evicted_unused", "evicted unused", "pages"}, 256, false},
	[PAST_EVICTED] = {{"evicted_pages", "evictions", "pages"}, 256, false},
	[PAST_REFAULTS] = {{"refaults", "refaults", "pages"}, 256, false},
};

static double scaled(enum past_figure f, double x)
{
	return figures[f].ratio ? x : log(fmax(x, 0) + figures[f].least);
}

static double unscaled(enum past_figure f, double y)
{
	return figures[f].ratio ? fmin(fmax(y, 0), 1) : fmax(exp(y) - figures[f].least, 0);
}

/* Where the next value of a normal process lies, of which nr are known: Student's t. */
static void predict(enum past_figure f, const double *earlier, size_t nr, double p,
		    struct series_history *h)
{
	double n = (double)nr;
	double mean = 0;
	double square = 0;
	double by;

	for (size_t i = 0; i < nr; i++)
		mean += scaled(f, earlier[i]) / n;
	for (size_t i = 0; i < nr; i++)
		square += (scaled(f, earlier[i]) - mean) * (scaled(f, earlier[i]) - mean);
	by = student_quantile(1 - p / 2, n - 1) * sqrt(square / (n - 1) * (1 + 1 / n));
	h->low = unscaled(f, mean - by);
	/* An exponential of a few alike runs, not of the machine's limits. */
	h->high = unscaled(f, fmin(mean + by, 600));
}

static struct opt_f64 trend_in(enum past_figure f, double value, const double *earlier, size_t nr,
			       double tests)
{
	double all[HISTORY_RUNS_MAX + 1];
	double work[HISTORY_RUNS_MAX + 1];
	double moved;
	struct trend t;

	for (size_t i = 0; i < nr; i++)
		all[i] = work[i] = earlier[i];
	all[nr] = work[nr] = value;
	t = trend_of(all, nr + 1);
	moved = fabs(t.slope) * (double)nr;
	if (t.p * tests > SERIES_LEVEL || moved < figures[f].least ||
	    moved < TREND_SHARE * fabs(stats_median(work, nr + 1)))
		return (struct opt_f64){0};
	return (struct opt_f64){.known = true, .value = t.slope};
}

bool history_judge(enum past_figure f, double value, const double *earlier, size_t nr, double tests,
		   struct series_history *ret)
{
	struct series_history h = {.metric = &figures[f].metric, .value = value};
	double work[HISTORY_RUNS_MAX];
	double near;

	if (nr > HISTORY_RUNS_MAX) {
		earlier += nr - HISTORY_RUNS_MAX;
		nr = HISTORY_RUNS_MAX;
	}
	if (nr < SERIES_RUNS_MIN)
		return false;
	for (size_t i = 0; i < nr; i++)
		work[i] = earlier[i];
	h.runs = nr;
	h.median = stats_median(work, nr);
	predict(f, earlier, nr, SERIES_LEVEL / tests, &h);
	near = fmax(ALIKE_SHARE * h.median, figures[f].least);
	h.low = fmin(h.low, fmax(h.median - near, 0));
	h.high = fmax(h.high, figures[f].ratio ? fmin(h.median + near, 1) : h.median + near);
	h.unusual = value < h.low || value > h.high;
	h.trend_per_run = trend_in(f, value, earlier, nr, tests);
	*ret = h;
	return true;
}
