/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/paired.h"

#include <math.h>
#include <stdbool.h>

#include "advisor/compare/cells.h"
#include "advisor/stats/stats.h"

/* A step in the sum of both runs that explains this share of its variance is a phase of the job. */
#define PHASE_SHARE 0.75
#define PHASE_ALIKE 0.75 /* the smaller step of both runs / the larger one */
/*
 * The estimate of autocorrelation has an error, so it is raised by two standard errors. Without
 * that, pairs that look less alike than they are would be tested, and pairs that look more alike
 * would be left out.
 */
#define LAG_MARGIN  2.0
#define LAG_DEGREES 0.5	  /* degrees of freedom for which the error already has its whole margin */
#define SAME_CELLS  1e-12 /* relative to the values: a rounding error */
#define POWER	    0.8
#define FEW_MARGIN  1.25

struct phases {
	size_t nr; /* 1 or 2 */
	size_t start[3];
};

static double mean_of(const double *x, size_t from, size_t to)
{
	return cells_mean(x + from, to - from);
}

/* The job's beginning shows in both runs. A step in only one run may be a burst that came first by
 * chance; treating it as a phase would create a difference that nothing contradicts. But if the
 * longer rest really differs, only one run may have a beginning: a run that gets warm shows a step,
 * and a run that never gets warm does not. */
static bool is_of_both(const double *a, const double *b, size_t at, size_t nr)
{
	double step_a = mean_of(a, 0, at) - mean_of(a, at, nr);
	double step_b = mean_of(b, 0, at) - mean_of(b, at, nr);
	double first = fabs(mean_of(b, 0, at) - mean_of(a, 0, at));
	double rest = fabs(mean_of(b, at, nr) - mean_of(a, at, nr));

	return rest >= first ||
	       (step_a * step_b > 0 &&
		fmin(fabs(step_a), fabs(step_b)) >= PHASE_ALIKE * fmax(fabs(step_a), fabs(step_b)));
}

/*
 * Finds where the job's beginning ends, from the sum of both runs. The sum is independent of the
 * difference that is tested if the runs are alike, so this choice makes no false alarms.
 */
static struct phases phases_of(const double *a, const double *b, size_t nr)
{
	struct phases ret = {.nr = 1, .start = {0, nr, nr}};
	double mean = mean_of(a, 0, nr) + mean_of(b, 0, nr);
	double total = 0;
	double sum = 0;
	double best = 0;
	size_t at = 0;

	for (size_t i = 0; i < nr; i++)
		total += (a[i] + b[i] - mean) * (a[i] + b[i] - mean);
	for (size_t i = 0; i < nr / 2; i++) {
		double n = (double)(i + 1);
		double explained;

		sum += a[i] + b[i] - mean;
		explained = sum * sum * (double)nr / (n * ((double)nr - n));
		if (i >= 3 && i >= nr / 20 && explained > best) {
			best = explained;
			at = i + 1;
		}
	}
	if (at && best > PHASE_SHARE * total && is_of_both(a, b, at, nr))
		ret = (struct phases){.nr = 2, .start = {0, at, nr}};
	return ret;
}

/* The variance of the mean of n values of a first-order process with variance 1. */
static double variance_of_mean(double phi, double n)
{
	return (1 + phi) / (1 - phi) / n -
	       2 * phi * (1 - pow(phi, n)) / ((1 - phi) * (1 - phi)) / (n * n);
}

static size_t batches_of(const struct phases *p, size_t phase, size_t batches)
{
	size_t nr = p->start[p->nr];
	size_t first;

	if (p->nr == 1)
		return batches;
	first = (batches * p->start[1] + nr / 2) / nr;
	if (first < 2)
		first = 2;
	if (first > batches - 2)
		first = batches - 2;
	return phase ? batches - first : first;
}

/*
 * The standard error of the mean, from the means of batches. Batches of autocorrelated cells are
 * still correlated, and look closer to each other than they are; phi gives the correction.
 */
static double batch_error(const double *r, const struct phases *p, size_t batches, double phi)
{
	double nr = (double)p->start[p->nr];
	double degrees = (double)(batches - p->nr);
	double seen = 0;
	double expected = 0;

	for (size_t k = 0; k < p->nr; k++) {
		size_t length = p->start[k + 1] - p->start[k];
		size_t in_phase = batches_of(p, k, batches);

		for (size_t i = 0; i < in_phase; i++) {
			size_t from = p->start[k] + i * length / in_phase;
			size_t to = p->start[k] + (i + 1) * length / in_phase;
			double n = (double)(to - from);
			double mean = mean_of(r, from, to);

			seen += n * mean * mean;
			expected += n * (variance_of_mean(phi, n) -
					 variance_of_mean(phi, (double)length));
		}
	}
	return PAIRED_ERROR_MARGIN *
	       sqrt(seen / degrees / nr *
		    fmax(variance_of_mean(phi, nr) * nr * degrees / expected, 1));
}

/* Every cell differs by the same amount: there is no noise. */
static void judge_constant(struct paired *ret, size_t nr)
{
	ret->effective_cells = (double)nr;
	ret->batches = nr < PAIRED_BATCHES_MAX ? nr : PAIRED_BATCHES_MAX;
	ret->degrees = (double)ret->batches - 1;
	ret->t = ret->difference == 0 ? 0 : copysign(INFINITY, ret->difference);
	ret->p = ret->difference == 0 ? 1 : 0;
}

/* t and p, from difference, error and degrees of freedom. */
static void conclude_test(struct paired *ret)
{
	ret->t = ret->difference / ret->error;
	ret->p = stats_student_two_sided(ret->t, ret->degrees);
}

double paired_detectable(const struct paired *t, double before, double level)
{
	double errors = stats_student_quantile(1 - level / 2, t->degrees) +
			stats_student_quantile(POWER, t->degrees);

	if (!(t->error > 0))
		return 0;
	if (t->log_error > 0)
		return before * fabs(expm1(copysign(errors * t->log_error, t->log_change)));
	return t->error * errors;
}

bool paired_interval(const struct paired *t, double before, double level, double *ret_low,
		     double *ret_high)
{
	double errors = stats_student_quantile(1 - level / 2, t->degrees);

	if (t->log_error > 0) {
		*ret_low = before * expm1(t->log_change - errors * t->log_error);
		*ret_high = before * expm1(t->log_change + errors * t->log_error);
	} else {
		*ret_low = t->difference - errors * t->error;
		*ret_high = t->difference + errors * t->error;
	}
	return isfinite(*ret_low) && isfinite(*ret_high);
}

/* Mean and standard deviation of the logarithms. false: not all values are positive. */
static bool logs_of(const double *x, size_t nr, double *ret_mean, double *ret_spread)
{
	double logs[CELLS_MAX];

	if (!nr || nr > CELLS_MAX)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!(x[i] > 0))
			return false;
		logs[i] = log(x[i]);
	}
	*ret_mean = cells_mean(logs, nr);
	*ret_spread = cells_spread(logs, nr);
	return true;
}

/* Judges what is PAIRED_TOO_ALIKE by the logarithms, if they can be compared. The means of the
 * values must have the same order: a few large values can outweigh many small ones. */
static void judge_apart(struct paired *t, const double *a, size_t nr_a, const double *b,
			size_t nr_b)
{
	double mean_a, mean_b, spread_a, spread_b, spread, change;

	if (t->why != PAIRED_TOO_ALIKE || !logs_of(a, nr_a, &mean_a, &spread_a) ||
	    !logs_of(b, nr_b, &mean_b, &spread_b))
		return;
	change = mean_b - mean_a;
	if (nr_a < APART_FEW_MIN)
		spread_a = APART_FEW_SPREAD * fmax(spread_a, spread_b);
	if (nr_b < APART_FEW_MIN)
		spread_b = APART_FEW_SPREAD * fmax(spread_a, spread_b);
	spread = hypot(spread_a, spread_b);
	if (!(spread > SAME_CELLS) || !(change * t->difference > 0))
		return;
	t->why = PAIRED_TESTED;
	t->effective_cells =
		fmin(fmax((double)nr_a, (double)nr_b) / APART_ALIKE, PAIRED_EFFECTIVE_MIN);
	t->first_phase_cells = 0;
	t->log_change = change;
	t->log_error = FEW_MARGIN * spread / sqrt(t->effective_cells - 1);
	t->degrees = APART_DEGREES;
	t->error = t->difference / change * t->log_error;
	conclude_test(t);
}

/* Too autocorrelated for batches: uses the effective number of values, with as few degrees of
 * freedom. */
static void judge_few(struct paired *ret, const double *r, const struct phases *p)
{
	size_t nr = p->start[p->nr];
	double phi = stats_phi(r, nr, p->nr, LAG_DEGREES);

	ret->degrees = (double)nr * (1 - phi) / (1 + phi) - (double)p->nr;
	ret->error =
		FEW_MARGIN * sqrt(stats_lagged(r, nr, 0) / (ret->effective_cells - (double)p->nr));
	conclude_test(ret);
}

static void judge_residuals(struct paired *ret, const double *r, const struct phases *p)
{
	size_t nr = p->start[p->nr];
	double phi = stats_phi(r, nr, p->nr, LAG_MARGIN);
	bool few;

	ret->effective_cells = (double)nr * (1 - phi) / (1 + phi);
	ret->first_phase_cells = p->nr > 1 ? p->start[1] : 0;
	few = ret->effective_cells < PAIRED_BATCHES_OF * (double)(1 + p->nr) / 2;
	if (ret->effective_cells < PAIRED_EFFECTIVE_MIN || (few && nr < PAIRED_ALIKE_MIN)) {
		ret->why = PAIRED_TOO_ALIKE;
		return;
	}
	if (few) {
		judge_few(ret, r, p);
		return;
	}
	ret->batches = nr / 2 < PAIRED_BATCHES_MAX ? nr / 2 : PAIRED_BATCHES_MAX;
	ret->degrees = (double)(ret->batches - p->nr);
	ret->error = batch_error(r, p, ret->batches, phi);
	if (ret->error == 0) {
		judge_constant(ret, nr);
		return;
	}
	conclude_test(ret);
}

struct paired paired_test(const double *a, const double *b, size_t nr)
{
	struct paired ret = {.why = PAIRED_TOO_FEW};
	struct phases p;
	double r[CELLS_MAX] = {0};
	double size = 0;
	double left = 0;

	if (!nr || nr > CELLS_MAX)
		return ret;
	ret.difference = mean_of(b, 0, nr) - mean_of(a, 0, nr);
	ret.spread_a = cells_spread(a, nr);
	ret.spread_b = cells_spread(b, nr);
	if (nr < PAIRED_CELLS_MIN)
		return ret;
	ret.why = PAIRED_TESTED;
	p = phases_of(a, b, nr);
	for (size_t k = 0; k < p.nr; k++) {
		size_t from = p.start[k];
		size_t to = p.start[k + 1];
		double mean = mean_of(b, from, to) - mean_of(a, from, to);

		for (size_t i = from; i < to; i++) {
			r[i] = b[i] - a[i] - mean;
			left = fmax(left, fabs(r[i]));
			size = fmax(size, fmax(fabs(a[i]), fabs(b[i])));
		}
	}
	if (left <= SAME_CELLS * size)
		judge_constant(&ret, nr);
	else
		judge_residuals(&ret, r, &p);
	if (nr >= APART_CELLS_MIN)
		judge_apart(&ret, a, nr, b, nr);
	return ret;
}

/*
 * Whether a step of the other run, at the same place and in the same direction, explains nearly all
 * of its change. The place was chosen from the sum, which contains the noise of both runs. So a
 * step that only one run has may be noise that the choice selected.
 */
static bool steps_too(const double *x, const double *other, size_t at, size_t nr)
{
	double step = mean_of(other, 0, at) - mean_of(other, at, nr);
	double mean = mean_of(other, 0, nr);
	double explained = step * step * (double)at * (double)(nr - at) / (double)nr;
	double total = 0;

	for (size_t i = 0; i < nr; i++)
		total += (other[i] - mean) * (other[i] - mean);
	return step * (mean_of(x, 0, at) - mean_of(x, at, nr)) > 0 &&
	       explained >= PHASE_SHARE * total;
}

/* x without the mean of its phase. Returns the largest residual and the largest value. */
static void residuals_alone(const double *x, const struct phases *p, double *r, double *ret_left,
			    double *ret_size)
{
	for (size_t k = 0; k < p->nr; k++) {
		double mean = mean_of(x, p->start[k], p->start[k + 1]);

		for (size_t i = p->start[k]; i < p->start[k + 1]; i++) {
			r[i] = x[i] - mean;
			*ret_left = fmax(*ret_left, fabs(r[i]));
			*ret_size = fmax(*ret_size, fabs(x[i]));
		}
	}
}

/* The error of the mean of one run, its degrees of freedom and effective_cells. other: the other
 * run's values at the same shares of the work, to distinguish a beginning of the job from a
 * burst; NULL: unknown, and no phase is removed. A constant series is PAIRED_TOO_ALIKE. */
static struct paired test_alone(const double *x, size_t nr, const double *other)
{
	struct paired ret = {.why = PAIRED_TOO_FEW};
	const struct phases one = {.nr = 1, .start = {0, nr, nr}};
	struct phases p = one;
	double r[CELLS_MAX] = {0};
	double size = 0;
	double left = 0;

	if (nr < PAIRED_CELLS_MIN || nr > CELLS_MAX)
		return ret;
	if (other)
		p = phases_of(x, other, nr);
	if (p.nr > 1 && !steps_too(x, other, p.start[1], nr))
		p = one;
	residuals_alone(x, &p, r, &left, &size);
	ret.why = PAIRED_TOO_ALIKE;
	if (left <= SAME_CELLS * size)
		return ret;
	ret.why = PAIRED_TESTED;
	judge_residuals(&ret, r, &p);
	if (ret.why == PAIRED_TESTED && !(ret.error > 0))
		ret.why = PAIRED_TOO_ALIKE;
	return ret;
}

/* The error of the difference, and its degrees of freedom by Welch and Satterthwaite. */
static void add_error(struct paired *t, double work, double spread, size_t few)
{
	double worth = fmin((double)few / LONE_ALIKE, LONE_WORTH);
	double seen = spread * spread / worth;
	double one = t->error * t->error;
	double other = one * fmax(work, 1);

	if (seen > other) {
		other = seen;
		t->degrees = (one + other) * (one + other) /
			     (one * one / t->degrees + other * other / (double)(few - 1));
	}
	t->error = sqrt(one + other);
}

/* Phases come from the long run. The short run is stretched to its length and shows which phases
 * both have. */
static struct paired test_stretched(const double *x, size_t nr, const double *few, size_t nr_few,
				    bool same_shares)
{
	double other[CELLS_MAX];
	bool stretch = same_shares && nr <= CELLS_MAX;

	for (size_t i = 0; stretch && i < nr; i++)
		other[i] = few[i * nr_few / nr];
	return test_alone(x, nr, stretch ? other : NULL);
}

struct paired paired_lone(const double *a, size_t nr_a, const double *b, size_t nr_b, double work,
			  bool same_shares)
{
	bool a_longer = nr_a >= nr_b;
	size_t few = a_longer ? nr_b : nr_a;
	struct paired t = {.why = PAIRED_TOO_FEW};

	if (few >= LONE_CELLS_MIN && work <= LONE_WORK_MAX)
		t = a_longer ? test_stretched(a, nr_a, b, nr_b, same_shares)
			     : test_stretched(b, nr_b, a, nr_a, same_shares);
	t.difference = few ? cells_mean(b, nr_b) - cells_mean(a, nr_a) : 0;
	t.spread_a = cells_spread(a, nr_a);
	t.spread_b = cells_spread(b, nr_b);
	if (same_shares && few >= LONE_CELLS_MIN && (a_longer ? nr_a : nr_b) >= APART_CELLS_MIN)
		judge_apart(&t, a, nr_a, b, nr_b);
	if (t.why == PAIRED_TOO_FEW && few >= LONE_CELLS_MIN && work > LONE_WORK_MAX &&
	    (a_longer ? nr_a : nr_b) >= PAIRED_CELLS_MIN)
		t.why = PAIRED_LITTLE_WORK;
	if (t.why != PAIRED_TESTED || t.log_error > 0)
		return t;
	add_error(&t, work, a_longer ? t.spread_b : t.spread_a, few);
	conclude_test(&t);
	return t;
}
