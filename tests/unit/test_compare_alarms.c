/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access m */
/*
 * How often two runs of the same process are called different, by simulation. Only pairs that are
 * judged count, because a pair without a p-value raises no alarm. CACHEMON_FULL=1: ten times as
 * many pairs, and each process is printed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "advisor/compare/cells.h"
#include "advisor/compare/compare.h"
#include "advisor/compare/paired.h"
#include "fixtures/chance.h"
#include "fixtures/counts.h"

#define LEVEL 0.05

enum { PAIRS = 400, LONE_PAIRS = 100, RUN_INTERVALS = 60 };

enum shape { STEADY, SKEWED, BURSTS, STATES, TREND, EPOCHS, SHAPE_NR };

static const char *const names[SHAPE_NR] = {
	[STEADY] = "steady: normal values",
	[SKEWED] = "skewed: log-normal values",
	[BURSTS] = "bursts: now and then tenfold",
	[STATES] = "states: tenfold for 1 / (1 - phi) intervals",
	[TREND] = "trend: the same slope in both runs",
	[EPOCHS] = "epochs: a sawtooth of 12.5 intervals, anywhere",
};

struct process {
	enum shape shape;
	double phi;  /* lag-1 autocorrelation of the noise */
	double cold; /* added to the first quarter, in both runs */
	size_t nr;
};

/* The mean of a sawtooth over an interval. */
static double tooth(double at)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += fmod(at + i / 12.0 / 12.5, 1) / 12;
	return sum;
}

static void run_of(uint64_t *seed, const struct process *p, double *x)
{
	double v = normal(seed);
	double phase = uniform(seed);
	bool high = uniform(seed) < 0.1;

	for (size_t i = 0; i < p->nr; i++) {
		double part = (double)i / (double)p->nr;
		double leave = high ? 1 - p->phi : (1 - p->phi) / 9;
		double y = v;

		if (p->shape == SKEWED)
			y = exp(1.2 * v);
		else if (p->shape == BURSTS)
			y = v > 1 ? 10 + v : 0.1 * normal(seed);
		else if (p->shape == STATES)
			y = high ? 10 + normal(seed) : 1 + 0.3 * normal(seed);
		else if (p->shape == TREND)
			y = v + 20 * part;
		else if (p->shape == EPOCHS)
			y = 0.3 * v + 8 * tooth(phase + (double)i / 12.5);
		x[i] = y + (part < 0.25 ? p->cold : 0);
		v = p->phi * v + sqrt(1 - p->phi * p->phi) * normal(seed);
		if (uniform(seed) < leave)
			high = !high;
	}
}

struct rates {
	int pairs, judged, alarms;
};

/* As compare counts: a test of runs that are far apart only ever shows a difference. */
static void count_pair(struct rates *r, const struct paired *t)
{
	bool called = t->why == PAIRED_TESTED && t->p <= LEVEL;

	r->judged += t->why == PAIRED_TESTED && (called || !(t->log_error > 0));
	r->alarms += called;
}

static double among_judged(const struct rates *r)
{
	return r->judged ? (double)r->alarms / r->judged : 0;
}

static struct rates simulate(const struct process *p, int pairs)
{
	uint64_t seed = 20260101;
	struct rates ret = {.pairs = pairs};

	for (int k = 0; k < pairs; k++) {
		double a[CELLS_MAX];
		double b[CELLS_MAX];
		struct paired t;

		run_of(&seed, p, a);
		run_of(&seed, p, b);
		t = paired_test(a, b, p->nr);
		count_pair(&ret, &t);
	}
	return ret;
}

/*
 * If a state lasts half of a run or longer, one run cannot separate the job's behaviour from
 * chance; that takes more runs. Such processes are printed; docs/advisor.md has their rates.
 */
static bool outlasts(const struct process *p)
{
	double memory = p->shape == EPOCHS || p->shape == BURSTS || p->shape == STATES
				? 1 / (1 - p->phi)
				: 0;

	return 2 * memory >= (double)p->nr * (1 - 1e-9);
}

/* Whether the rate of one process is at most the level, plus three standard errors of the
 * simulation. Below a fifth of the pairs there are too few for a rate. */
static bool is_kept(const struct rates *r)
{
	if (r->judged * 5 < r->pairs)
		return (double)r->alarms / r->pairs <= LEVEL;
	return among_judged(r) <= LEVEL + 3 * sqrt(LEVEL * (1 - LEVEL) / r->judged);
}

static void show(const char *what, const struct process *p, const struct rates *r)
{
	printf("%s phi %.2f intervals %3zu cold %2.0f: %5.1f %% of %d pairs judged, %.1f %% of "
	       "these false alarms\n",
	       what, p->phi, p->nr, p->cold, 100.0 * r->judged / r->pairs, r->pairs,
	       100 * among_judged(r));
}

/* Adds the results to sum, and to the worst rate if the process is judged often enough. */
static int one_process(const struct process *p, int pairs, struct rates *sum, double *worst)
{
	struct rates r = simulate(p, pairs);
	bool full = full_counts();

	if (full || !is_kept(&r))
		show(names[p->shape], p, &r);
	sum->pairs += r.pairs;
	sum->judged += r.judged;
	sum->alarms += r.alarms;
	if (outlasts(p))
		return 0;
	if (r.judged * 5 >= r.pairs)
		*worst = fmax(*worst, among_judged(&r));
	return !is_kept(&r);
}

static int one_shape(enum shape shape, int pairs)
{
	static const double phis[] = {0, 0.3, 0.6, 0.8, 0.9, 0.95};
	static const size_t lengths[] = {20, 40, 100, 300};
	struct rates sum = {0};
	double worst = 0;
	int broken = 0;

	for (size_t i = 0; i < sizeof(phis) / sizeof(phis[0]); i++)
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
			for (int cold = 0; cold <= 20; cold += 20) {
				struct process p = {shape, phis[i], cold, lengths[k]};

				broken += one_process(&p, pairs, &sum, &worst);
			}
	printf("%-46s %4.1f %% of %d pairs judged; of these %.1f %% false alarms, at worst %.1f "
	       "%%\n",
	       names[shape], 100.0 * sum.judged / sum.pairs, sum.pairs, 100 * among_judged(&sum),
	       100 * worst);
	if (among_judged(&sum) > LEVEL)
		broken++;
	return broken;
}

static void one_metric(void **state)
{
	int broken = 0;

	(void)state;
	for (int shape = 0; shape < SHAPE_NR; shape++)
		broken += one_shape((enum shape)shape, full_counts() ? 10 * PAIRS : PAIRS);
	assert_int_equal(broken, 0);
}

/* A short run of the process: complete but in a few long intervals, or its first few intervals. */
static void short_run(const double *b, size_t nr, size_t few, bool ended, double *ret)
{
	double ones[CELLS_MAX];
	struct compare_series whole = {b, ones, ones, nr};
	double ratio = 0;

	for (size_t i = 0; i < nr; i++)
		ones[i] = 1;
	if (!ended) {
		assert_int_equal(cells_values(&whole, few, ret, &ratio), 0);
		return;
	}
	for (size_t i = 0; i < few; i++)
		ret[i] = b[i];
}

/* The test of the next two runs of a process. noise: the size of the logarithm of their values; 0:
 * the values are as they are. The second run's are multiplied by factor. few: intervals of the
 * second run; 0: both are long. */
static struct paired test_next(uint64_t *seed, const struct process *p, size_t few, bool ended,
			       double noise, double factor)
{
	double a[CELLS_MAX];
	double b[CELLS_MAX];
	double part[PAIRED_CELLS_MIN];

	run_of(seed, p, a);
	run_of(seed, p, b);
	for (size_t i = 0; noise > 0 && i < p->nr; i++) {
		a[i] = exp(noise * a[i]);
		b[i] = factor * exp(noise * b[i]);
	}
	if (!few)
		return paired_test(a, b, p->nr);
	short_run(b, p->nr, few, ended, part);
	return paired_lone(a, p->nr, part, few, ended ? (double)p->nr / (double)few : 1, !ended);
}

static struct rates simulate_lone(const struct process *p, size_t few, bool ended, int pairs)
{
	uint64_t seed = 20260102;
	struct rates ret = {.pairs = pairs};

	for (int k = 0; k < pairs; k++) {
		struct paired t = test_next(&seed, p, few, ended, 0, 1);

		count_pair(&ret, &t);
	}
	return ret;
}

/* A run that ended early has only a part of a trend or of a cold start. */
static int lone_shape(enum shape shape, bool ended, int pairs)
{
	static const double phis[] = {0, 0.3, 0.6, 0.8, 0.9, 0.95};
	static const size_t lengths[] = {20, 40, 100, 300};
	static const size_t fews[] = {2, 5, 10, 19};
	static const double colds[] = {0, 20, -20};
	struct rates sum = {0};
	double worst = 0;
	int broken = 0;

	for (size_t i = 0; i < (ended ? 1 : 3) * 6 * 4 * 4; i++) {
		struct process p = {shape, phis[i % 6], colds[i / 96], lengths[i / 6 % 4]};
		struct rates r;

		/* Without full counts, only every sixth process with a cold start. */
		if (!full_counts() && i >= 96 && i % 6 != 1)
			continue;
		if (ended && p.nr > fews[i / 24 % 4] * LONE_WORK_MAX)
			continue;
		r = simulate_lone(&p, fews[i / 24 % 4], ended, pairs);
		if (full_counts() || !is_kept(&r)) {
			printf("%s %zu: ", ended ? "ended after" : "in", fews[i / 24 % 4]);
			show(names[shape], &p, &r);
		}
		sum.pairs += r.pairs;
		sum.judged += r.judged;
		sum.alarms += r.alarms;
		if (outlasts(&p))
			continue;
		if (r.judged * 5 >= r.pairs)
			worst = fmax(worst, among_judged(&r));
		broken += !is_kept(&r);
	}
	printf("%-46s %4.1f %% of %d pairs judged; of these %.1f %% false alarms, at worst %.1f "
	       "%%\n",
	       names[shape], 100.0 * sum.judged / sum.pairs, sum.pairs, 100 * among_judged(&sum),
	       100 * worst);
	return broken + !is_kept(&sum);
}

/* A run with few intervals against a long one with as much work. */
static void one_run_of_few_intervals(void **state)
{
	int broken = 0;

	(void)state;
	for (int shape = 0; shape < SHAPE_NR; shape++)
		broken += lone_shape((enum shape)shape, false,
				     full_counts() ? 10 * PAIRS : LONE_PAIRS);
	assert_int_equal(broken, 0);
}

/* A run that ended early against one with more work. */
static void one_run_that_ended_early(void **state)
{
	int broken = 0;

	(void)state;
	for (int shape = 0; shape < SHAPE_NR; shape++)
		if (shape != TREND)
			broken += lone_shape((enum shape)shape, true,
					     full_counts() ? 10 * PAIRS : LONE_PAIRS);
	assert_int_equal(broken, 0);
}

struct apart {
	int pairs, asked, called;
};

/* Pairs of positive values of which the second run is factor times as large. */
static struct apart simulate_apart(const struct process *p, double noise, size_t few, double factor,
				   int pairs)
{
	uint64_t seed = 20260103;
	struct apart ret = {.pairs = pairs};

	for (int k = 0; k < pairs; k++) {
		struct paired t = test_next(&seed, p, few, false, noise, factor);

		ret.asked += t.log_error > 0;
		ret.called += t.log_error > 0 && t.p <= LEVEL;
	}
	return ret;
}

/* The noise's logarithm has the shape: its size is proportional to the values. Pairs of one
 * process are seldom called far apart, whatever the process is. */
static void runs_that_are_not_far_apart(void **state)
{
	static const double phis[] = {0, 0.6, 0.8, 0.9, 0.95};
	static const size_t lengths[] = {APART_CELLS_MIN, 60, 100, 300};
	static const size_t fews[] = {0, LONE_CELLS_MIN, 3, APART_FEW_MIN, 19};
	int broken = 0;

	(void)state;
	for (int shape = 0; shape < SHAPE_NR; shape++) {
		struct apart sum = {0};
		double worst = 0;

		for (size_t i = 0; i < 5 * 4 * 5; i++) {
			struct process p = {(enum shape)shape, phis[i % 5], 0, lengths[i / 5 % 4]};
			struct apart r;

			if (outlasts(&p))
				continue;
			r = simulate_apart(&p, 1, fews[i / 20], 1,
					   full_counts() ? 10 * PAIRS : PAIRS);
			sum.pairs += r.pairs;
			sum.asked += r.asked;
			sum.called += r.called;
			if (r.asked * 5 >= r.pairs)
				worst = fmax(worst, (double)r.called / r.asked);
			/* As is_kept(). */
			if (r.asked * 5 < r.pairs
				    ? r.called > LEVEL * r.pairs
				    : r.called > r.asked * LEVEL +
							 3 * sqrt(LEVEL * (1 - LEVEL) * r.asked)) {
				broken++;
				printf("%s phi %.2f intervals %zu and %zu: %d of %d\n",
				       names[shape], p.phi, p.nr, fews[i / 20], r.called, r.asked);
			}
		}
		printf("far apart: %-46s asked of %4.1f %% of %d pairs; %.2f %% false alarms, at "
		       "worst %.1f %%\n",
		       names[shape], 100.0 * sum.asked / sum.pairs, sum.pairs,
		       sum.asked ? 100.0 * sum.called / sum.asked : 0, 100 * worst);
	}
	assert_int_equal(broken, 0);
}

/* A job that is ten times as fast, and whose intervals resemble each other. */
static void runs_that_are_far_apart(void **state)
{
	static const struct process p = {STEADY, 0.95, 0, 60};
	static const size_t fews[] = {0, LONE_CELLS_MIN, APART_FEW_MIN};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct apart r = simulate_apart(&p, 0.3, fews[i], 1.0 / 10, PAIRS);

		printf("ten times as fast: %d of %d called different\n", r.called, r.asked);
		assert_true(r.asked * 2 > r.pairs && r.called * 10 > r.asked * 9);
	}
}

/* An interval of a job whose figures all follow the same noise, each with noise of its own. */
static void fill_interval(uint64_t *seed, double v, struct compare_interval *in)
{
	static const struct {
		int counter;
		double mean;
	} figures[] = {
		{X_CPU_NS, 4e8},
		{C_read_bytes, 64e6},
		{C_lookups, 16000},
		{C_misses, 900},
		{C_demand_pages, 900},
		{C_prefetched_sync, 3000},
		{C_prefetched_async, 4000},
		{C_used, 5000},
		{C_used_late, 900},
		{C_evicted_unused, 500},
		{C_faults_major, 40},
		{C_stall_ns, 3e8},
		{C_refaults, 700},
		{C_evicted_reclaim_kswapd, 3000},
	};

	*in = (struct compare_interval){.duration_ns = 1000000000, .read_on_ns = 1000000000};
	in->value[X_DURATION_NS] = in->duration_ns;
	in->known[X_DURATION_NS] = true;
	for (int c = 0; c < C_NR; c++)
		in->known[c] = true;
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		double factor = exp(0.2 * v + 0.2 * normal(seed));

		in->value[figures[i].counter] = (int64_t)(figures[i].mean * factor);
		in->known[figures[i].counter] = true;
	}
}

static void job_of(uint64_t *seed, double phi, struct compare_interval *in)
{
	double v = normal(seed);

	for (int i = 0; i < RUN_INTERVALS; i++) {
		fill_interval(seed, v, &in[i]);
		v = phi * v + sqrt(1 - phi * phi) * normal(seed);
	}
}

/* All metrics together: a verdict better, worse or mixed for two runs of the same job. */
static void whole_verdict(void **state)
{
	static const double phis[] = {0, 0.3, 0.6, 0.8};
	int pairs = full_counts() ? 10 * PAIRS : PAIRS;

	(void)state;
	for (size_t i = 0; i < sizeof(phis) / sizeof(phis[0]); i++) {
		struct rates r = {.pairs = pairs};
		uint64_t seed = 7;

		for (int k = 0; k < pairs; k++) {
			struct compare_interval in[2][RUN_INTERVALS];
			struct compare_run a = {in[0], RUN_INTERVALS, 4096};
			struct compare_run b = {in[1], RUN_INTERVALS, 4096};
			struct compare_result result;

			job_of(&seed, phis[i], in[0]);
			job_of(&seed, phis[i], in[1]);
			assert_int_equal(compare_runs(&a, &b, PER_WORK, &result), 0);
			r.judged += result.verdict != VERDICT_UNTESTED;
			r.alarms += result.verdict != VERDICT_UNTESTED &&
				    result.verdict != VERDICT_SAME;
			compare_free(&result);
		}
		printf("verdict of all metrics, phi %.1f: %.1f %% of %d pairs judged; of these "
		       "%.1f %% false alarms\n",
		       phis[i], 100.0 * r.judged / pairs, pairs, 100 * among_judged(&r));
		assert_true(r.judged * 2 > pairs && is_kept(&r));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_metric),
		cmocka_unit_test(one_run_of_few_intervals),
		cmocka_unit_test(one_run_that_ended_early),
		cmocka_unit_test(runs_that_are_not_far_apart),
		cmocka_unit_test(runs_that_are_far_apart),
		cmocka_unit_test(whole_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
