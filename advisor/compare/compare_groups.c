/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/compare_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/compare/cells.h"
#include "advisor/compare/ranks.h"
#include "advisor/stats/stats.h"

/*
 * Few runs have few possible p: with 4 per side the smallest is 0.029. So the time (or its
 * substitute) gets most of the 5 % of false alarms, and all other figures share the rest. If the
 * time differs, they share all of it.
 */
#define FIRST_PART 0.6

/* The values of both sides, one side after the other. */
struct sides {
	const struct compare_run *runs;
	size_t nr[2];
};

static bool value_of(const struct compare_run *run, const struct compare_result *r,
		     const struct compare_metric *m, double *ret)
{
	bool of_work = m->den.term[0] == X_WORK;
	double num = 0;
	double den = of_work ? compare_total_work(run, r->work) : 0;

	if (!compare_sum(run, &m->num, &num) || (!of_work && !compare_sum(run, &m->den, &den)) ||
	    !(den > 0) || !compare_is_figure(run, m, num / den))
		return false;
	*ret = compare_scale(r, m) * (of_work && r->per == PER_JOB ? num : num / den);
	return true;
}

static double median_of(const double *values, size_t nr)
{
	double x[RANKS_MAX];

	memcpy(x, values, nr * sizeof(*x));
	return stats_median(x, nr);
}

static bool is_partial(const struct compare_run *run)
{
	for (size_t i = 0; i < run->nr; i++)
		if (run->intervals[i].read_on_ns < run->intervals[i].duration_ns)
			return true;
	return false;
}

static int compare_one(const struct sides *s, const struct compare_result *r, double *values,
		       struct compare_row *row)
{
	const struct compare_metric *m = row->metric;
	const double *b = values + s->nr[0];
	struct ranks test;

	if (r->per == PER_WORK && r->work == WORK_TIME && !m->time_unit) {
		row->test.why = PAIRED_OF_WORK;
		return 0;
	}
	for (size_t i = 0; i < s->nr[0] + s->nr[1]; i++)
		if (!value_of(&s->runs[i], r, m, &values[i])) {
			row->partial = is_partial(&s->runs[i]);
			return 0;
		}
	if (ranks_test(values, s->nr[0], b, s->nr[1], &test))
		return -ENOMEM;
	row->a = median_of(values, s->nr[0]);
	row->b = median_of(b, s->nr[1]);
	row->values = values;
	row->u = test.u;
	row->bounded = test.bounded;
	row->low = test.low;
	row->high = test.high;
	row->test = (struct paired){.why = PAIRED_TESTED,
				    .difference = row->b - row->a,
				    .spread_a = cells_spread(values, s->nr[0]),
				    .spread_b = cells_spread(b, s->nr[1]),
				    .error = NAN,
				    .t = NAN,
				    .degrees = NAN,
				    .effective_cells = NAN,
				    .p = test.p,
				    .detectable = NAN};
	row->outcome = OUTCOME_UNTESTED;
	row->relevant = compare_relevant(r, row, s->runs[0].page_bytes);
	if (m->better != BETTER_NEITHER)
		row->p_adjusted = test.p;
	return 0;
}

/* The figure that decides first: time, or else stall. NULL: both are unknown. */
static struct compare_row *first_row(struct compare_result *r)
{
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].metric->rank == 0 && !isnan(r->rows[i].p_adjusted))
			return &r->rows[i];
	return NULL;
}

static void withdraw_p(struct compare_row *row)
{
	row->p_adjusted = NAN;
	row->test.why = PAIRED_TOO_FEW_RUNS;
}

/* level: of the test of this row. */
static int find_detectable(const struct compare_result *r, struct compare_row *row, double level)
{
	return ranks_detectable(row->values, r->runs_a, row->values + r->runs_a, r->runs_b, level,
				&row->test.detectable);
}

/* A metric that no values could make significant is not tested. */
static int adjust_others(struct compare_result *r, const struct compare_row *first)
{
	double part = !first ? 1 : first->p_adjusted <= COMPARE_LEVEL ? 1 : 1 - FIRST_PART;
	double least = ranks_least_p(r->runs_a, r->runs_b);
	double p[r->nr_rows];
	size_t nr = 0;
	int res = 0;

	for (size_t i = 0; i < r->nr_rows; i++) {
		p[i] = &r->rows[i] == first ? NAN : r->rows[i].p_adjusted;
		nr += !isnan(p[i]);
	}
	for (size_t i = 0; i < r->nr_rows && !res; i++)
		if (!isnan(p[i]))
			res = find_detectable(
				r, &r->rows[i],
				stats_holm_level(p, r->nr_rows, i, COMPARE_LEVEL * part));
	stats_holm(p, r->nr_rows);
	for (size_t i = 0; i < r->nr_rows; i++) {
		struct compare_row *row = &r->rows[i];

		if (isnan(p[i]))
			continue;
		row->p_adjusted = fmin(p[i] / part, 1);
		if (part == 1 && first)
			row->p_adjusted = fmax(row->p_adjusted, first->p_adjusted);
		if (least * (double)nr / part > COMPARE_LEVEL)
			withdraw_p(row);
	}
	return res;
}

static int judge_all(struct compare_result *r)
{
	struct compare_row *first = first_row(r);
	int res = 0;

	if (first) {
		first->p_adjusted = fmin(first->p_adjusted / FIRST_PART, 1);
		res = find_detectable(r, first, COMPARE_LEVEL * FIRST_PART);
	}
	if (!res)
		res = adjust_others(r, first);
	if (res)
		return res;
	if (first && ranks_least_p(r->runs_a, r->runs_b) / FIRST_PART > COMPARE_LEVEL)
		withdraw_p(first);
	for (size_t i = 0; i < r->nr_rows; i++) {
		struct compare_row *row = &r->rows[i];
		double middle = (double)(r->runs_a * r->runs_b) / 2;

		r->nr_tested += !isnan(row->p_adjusted);
		compare_judge_row(row);
		/* Ranks and medians may disagree about the direction. */
		if ((row->u > middle) != (row->test.difference > 0) &&
		    (row->outcome == OUTCOME_BETTER || row->outcome == OUTCOME_WORSE))
			row->outcome = OUTCOME_NOISE;
	}
	return 0;
}

static size_t sum_intervals(const struct compare_run *runs, size_t nr)
{
	size_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += runs[i].nr;
	return sum;
}

static double median_work(const struct compare_run *runs, size_t nr, enum compare_work work)
{
	double x[RANKS_MAX];

	for (size_t i = 0; i < nr; i++)
		x[i] = compare_total_work(&runs[i], work);
	return stats_median(x, nr);
}

int compare_groups(const struct compare_run *a, size_t nr_a, const struct compare_run *b,
		   size_t nr_b, enum compare_per per, struct compare_result *ret)
{
	struct compare_run *runs = calloc(nr_a + nr_b, sizeof(*runs));
	const struct sides s = {runs, {nr_a, nr_b}};
	int res = 0;

	*ret = (struct compare_result){.test = TEST_RANKS,
				       .per = per,
				       .nr_rows = compare_nr_metrics(),
				       .runs_a = nr_a,
				       .runs_b = nr_b,
				       .intervals_a = sum_intervals(a, nr_a),
				       .intervals_b = sum_intervals(b, nr_b)};
	ret->rows = calloc(ret->nr_rows, sizeof(*ret->rows));
	ret->values = calloc(ret->nr_rows * (nr_a + nr_b), sizeof(*ret->values));
	if (!runs || !ret->rows || !ret->values) {
		free(runs);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr_a; i++)
		ret->longest_s = fmax(ret->longest_s, compare_duration(&a[i]));
	for (size_t i = 0; i < nr_b; i++)
		ret->longest_s = fmax(ret->longest_s, compare_duration(&b[i]));
	memcpy(runs, a, nr_a * sizeof(*runs));
	memcpy(runs + nr_a, b, nr_b * sizeof(*runs));
	ret->work = compare_choose_work(runs, nr_a + nr_b, per);
	ret->work_a = median_work(a, nr_a, ret->work);
	ret->work_b = median_work(b, nr_b, ret->work);
	for (size_t i = 0; i < ret->nr_rows && !res; i++) {
		ret->rows[i] = (struct compare_row){.metric = compare_metric(i), .p_adjusted = NAN};
		res = compare_one(&s, ret, ret->values + i * (nr_a + nr_b), &ret->rows[i]);
	}
	free(runs);
	if (res)
		return res;
	compare_relate_to_time(ret);
	res = judge_all(ret);
	if (!res)
		compare_give_verdict(ret);
	return res;
}
