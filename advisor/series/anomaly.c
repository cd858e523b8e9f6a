/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/anomaly.h"

#include <math.h>
#include <stdbool.h>

#include "advisor/series/series.h"
#include "advisor/stats/stats.h"

/* Factor from the median absolute deviation to a standard deviation. */
#define MAD_NORMAL 1.4826
/* Robust deviations are estimates, and counts have longer tails than a normal distribution. */
#define SCORE_LEAST 6.0
/* If a stretch often has such values, they are usual there: a checkpoint every 20 intervals does
 * not stand out. */
#define USUAL_SHARE 0.04

/* The share of its distance from the median that one step must cover. */
#define LEAP_SHARE 0.5

enum { STRETCH_MIN = 15 }; /* fewer cells do not show what is usual */

/* The usual values on one scale. */
struct usual {
	double median, spread;
};

static struct usual usual_of(const double *x, size_t nr, double least, double *work)
{
	struct usual u;

	stats_spread(x, nr, work, &u.median, &u.spread);
	u.spread = fmax(u.spread * MAD_NORMAL, least);
	return u;
}

static double score_of(double x, const struct usual *u)
{
	return fabs(x - u->median) / u->spread;
}

/* The smaller of the two scores: a value that is extreme on only one scale belongs to a long
 * tail or is small. */
struct scale {
	struct usual plain, log;
	double least, far;
};

static double score_on_both(const struct scale *s, double x)
{
	return fmin(score_of(x, &s->plain), score_of(stats_log(x, s->least), &s->log));
}

/* A value is unusual only if it leaves the usual range on both scales, so the wider limits
 * apply. */
static void set_bounds(const struct scale *s, struct anomaly *a)
{
	double by = s->far * s->plain.spread;
	double by_log = s->far * s->log.spread;

	a->low = fmin(s->plain.median - by, stats_exp(s->log.median - by_log, s->least));
	a->high = fmax(s->plain.median + by, stats_exp(s->log.median + by_log, s->least));
}

static void keep_anomaly(struct anomalies *all, const struct anomaly *a)
{
	size_t least = 0;

	all->all++;
	if (all->nr < ANOMALY_MAX) {
		all->at[all->nr++] = *a;
		return;
	}
	for (size_t i = 1; i < all->nr; i++)
		if (all->at[i].score < all->at[least].score)
			least = i;
	if (a->score > all->at[least].score)
		all->at[least] = *a;
}

/* The largest step on the way to the value and back: a drift is not an outlier. */
static bool does_leap(const double *x, size_t from, size_t to, const struct anomaly *a,
		      double median)
{
	double step = 0;

	for (size_t i = a->from > from ? a->from : from + 1; i <= a->to && i < to; i++)
		step = fmax(step, fabs(x[i] - x[i - 1]));
	return step >= LEAP_SHARE * fabs(a->value - median);
}

static void collect_anomalies(const double *x, size_t from, size_t to, const struct scale *s,
			      struct anomalies *ret)
{
	for (size_t i = from; i < to; i++) {
		struct anomaly a = {.from = i};

		for (; i < to && score_on_both(s, x[i]) > s->far; i++) {
			bool above = x[i] > s->plain.median;

			if (i > a.from && above != (x[i - 1] > s->plain.median))
				break;
			if (score_on_both(s, x[i]) > a.score) {
				a.score = score_on_both(s, x[i]);
				a.value = x[i];
			}
		}
		a.to = i;
		if (a.to == a.from)
			continue;
		set_bounds(s, &a);
		if (does_leap(x, from, to, &a, s->plain.median))
			keep_anomaly(ret, &a);
		i--;
	}
}

void anomaly_find(const double *x, size_t from, size_t to, double least, double tests, double *work,
		  struct anomalies *ret)
{
	size_t nr = to - from;
	struct scale s = {.least = least};
	double *log = work + nr;
	size_t far = 0;

	if (nr < STRETCH_MIN)
		return;
	s.far = fmax(stats_normal_z(SERIES_LEVEL / tests), SCORE_LEAST);
	for (size_t i = 0; i < nr; i++)
		log[i] = stats_log(x[from + i], least);
	/* The relevant difference on the logarithmic scale: a quarter. */
	s.log = usual_of(log, nr, 0.25 / s.far, work);
	s.plain = usual_of(x + from, nr, least / s.far, work);
	for (size_t i = from; i < to; i++)
		far += score_on_both(&s, x[i]) > s.far;
	if (far && (double)far <= fmax(USUAL_SHARE * (double)nr, 1))
		collect_anomalies(x, from, to, &s, ret);
}
