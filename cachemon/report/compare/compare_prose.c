/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "advisor/compare/paired.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/human.h"
#include "cachemon/base/quote.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"
#include "cachemon/figures/show.h"

/* A sentence names the first of the metrics that made the verdict. */
enum { NAMED_MAX = 3 };

/* On each side, to judge the time: as in the sentences below. */
enum { RUNS_FOR_TIME = 4 };

const char *compare_test_name(enum compare_test test)
{
	static const char *const names[TEST_NR] = {
		[TEST_PAIRED] = "paired t test on batch means",
		[TEST_LONE] = "t test on batch means of the longer run",
		[TEST_RANKS] = "Mann-Whitney test (exact)",
	};

	return names[test];
}

const char *compare_method(enum compare_test test)
{
	static_assert(PAIRED_CELLS_MIN == 20 && LONE_CELLS_MIN == 2,
		      "the sentences below name these numbers");
	static const char *const methods[TEST_NR] = {
		[TEST_PAIRED] =
			"Paired t test on batch means: both runs are cut into the same number of "
			"cells of equal work, and cell k of one is compared with cell k of the "
			"other. The t test uses the means of long batches of their differences. "
			"The error is widened for the autocorrelation of neighbouring intervals, "
			"as for a first-order process with at least that autocorrelation. A cold "
			"start that both runs have is removed first. p is two-sided, and adjusted "
			"by Holm's method for the number of figures tested.",
		[TEST_LONE] =
			"t test on batch means of the longer run: the shorter run has fewer than "
			"20 intervals, too few to measure their autocorrelation. The test assumes "
			"that both runs are equally noisy, so the error of the longer run's mean, "
			"scaled by the work done, is used for both. If the spread of the shorter "
			"run's intervals gives a larger error, it is used for that run; three "
			"intervals then count as one value, and all intervals as at most three "
			"values. Values are not paired. A cold start that both runs show at the "
			"same bytes is removed first. p is two-sided, and adjusted by Holm's "
			"method for the number of figures tested.",
		[TEST_RANKS] = "Mann-Whitney test (exact): each run gives one value of each "
			       "figure, and p is the share of all divisions of these values into "
			       "two groups of these sizes in which the groups differ at least as "
			       "much. Runs must be independent: alternate between before and after "
			       "if you can. Before and after are medians; the interval contains "
			       "the shifts that the test does not reject. The chance of a false "
			       "alarm is 5 %: 3 % for the time, and 2 % for all other figures "
			       "together by Holm's method, or 5 % if the time differs.",
	};

	return methods[test];
}

const char *compare_why(const struct compare_row *row)
{
	static const char *const reasons[] = {
		[PAIRED_TOO_FEW] =
			"too few intervals: one run needs 20, and the other needs two that cover "
			"at least half the work (watch --interval 100ms gives more)",
		[PAIRED_LITTLE_WORK] = "one run did less than half of the other's work: --per job "
				       "compares whole jobs, or repeat the runs",
		[PAIRED_TOO_ALIKE] = "neighbouring intervals are too alike: together they are "
				     "worth too few independent values",
		[PAIRED_OF_WORK] = "proportional to the unit of work, so there is one value per "
				   "run and no test is possible",
		[PAIRED_TOO_FEW_RUNS] = "too few runs: 4 on each side are enough to judge the "
					"time, 7 to judge every figure",
	};

	if (row->test.why == PAIRED_OF_WORK)
		return reasons[PAIRED_OF_WORK];
	if (row->outcome == OUTCOME_UNKNOWN)
		return row->partial ? "reads were watched for part of the time in one of the runs: "
				      "only estimates exist"
				    : "not measured in all runs";
	if (row->test.why != PAIRED_TESTED)
		return reasons[row->test.why];
	if (row->metric->better == BETTER_NEITHER)
		return "neither direction is better";
	return NULL;
}

static void say_change(FILE *out, const struct compare_result *r, const struct compare_row *row)
{
	const char *unit = compare_unit(r, row->metric);

	fprintf(out, "%s %s (%s to %s", row->metric->label, compare_change(row).s,
		compare_value(unit, row->a).s, compare_value(unit, row->b).s);
	if (strcmp(unit, "ratio") != 0)
		fprintf(out, " %s", unit);
	if (!isnan(row->p_adjusted))
		fprintf(out, "; %s", compare_p(row->p_adjusted).s);
	fputs(")", out);
}

static bool decides_verdict(const struct compare_result *r, const struct compare_row *row)
{
	return row->metric->rank == r->rank && row->metric->better != BETTER_NEITHER &&
	       (row->outcome == OUTCOME_BETTER || row->outcome == OUTCOME_WORSE);
}

static const struct compare_row *row_of(const struct compare_result *r, const char *key)
{
	for (size_t i = 0; i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].metric->key, key))
			return &r->rows[i];
	return NULL;
}

/* "faster by 21 %": of the time, or of the waiting if the time is not compared. NULL: both are
 * unknown. */
static const struct compare_row *say_direction(FILE *out, const struct compare_result *r)
{
	static const struct {
		const char *key, *words[3];
	} of[] = {
		{"time_per_work", {"faster", "slower", "as fast as before"}},
		{"stall_per_work", {"less waiting", "more waiting", "as much waiting as before"}},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct compare_row *row = row_of(r, of[i].key);
		double d = row->test.difference;

		if (row->outcome == OUTCOME_UNKNOWN || !(row->a > 0))
			continue;
		fputs(of[i].words[d < 0 ? 0 : d > 0 ? 1 : 2], out);
		if (d != 0)
			fprintf(out, " by %.*f %%",
				fabs(d) < 0.1 * row->a || fabs(d) > 0.99 * row->a,
				100 * fabs(d) / row->a);
		fprintf(out, " (%s to %s %s)",
			compare_value(compare_unit(r, row->metric), row->a).s,
			compare_value(compare_unit(r, row->metric), row->b).s,
			compare_unit(r, row->metric));
		return row;
	}
	return NULL;
}

/* A verdict by rank 1 shows nothing about the time. */
static void say_time_too(FILE *out, const struct compare_result *r)
{
	const struct compare_row *time = row_of(r, "time_per_work");
	const struct compare_row *stall = row_of(r, "stall_per_work");

	if (time->outcome == OUTCOME_UNTESTED) {
		fputs("; ", out);
		say_direction(out, r);
		fputs(", not proven", out);
		return;
	}
	fprintf(out, "; no difference seen in time%s",
		isnan(stall->p_adjusted) ? "; waiting could not be judged" : " and waiting");
}

static void say_deciding(FILE *out, const struct compare_result *r)
{
	int named = 0;
	int more = 0;

	for (size_t i = 0; i < r->nr_rows; i++) {
		if (!decides_verdict(r, &r->rows[i]))
			continue;
		if (named == NAMED_MAX) {
			more++;
			continue;
		}
		fputs(named++ ? ", " : " ", out);
		say_change(out, r, &r->rows[i]);
	}
	if (more)
		fprintf(out, " and %d more", more);
	if (r->rank > 0)
		say_time_too(out, r);
}

/* The difference that the test would have found. */
static void say_detectable(FILE *out, const struct compare_result *r)
{
	if (r->nr_tested == 1)
		fputs(" chance may explain the change of the one figure tested", out);
	else
		fprintf(out, " chance may explain the changes of all %zu figures tested",
			r->nr_tested);
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].outcome == OUTCOME_SMALL) {
			fputs(", or the change is too small to matter", out);
			break;
		}
	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];

		if (isnan(row->p_adjusted) || row->a <= 0 || row->outcome != OUTCOME_NOISE ||
		    !isfinite(row->test.detectable))
			continue;
		fprintf(out,
			"; a change of %s by %.1f %% would be detected in 4 of 5 such comparisons",
			row->metric->label, 100 * row->test.detectable / row->a);
		break;
	}
}

/* An interval that the user can set. */
#define SHORTEST_S 0.1

/* Shorter intervals would suffice. */
static bool shorter_helps(const struct compare_result *r, const struct compare_row *row)
{
	size_t many = r->intervals_a > r->intervals_b ? r->intervals_a : r->intervals_b;

	if (r->test != TEST_RANKS && row->test.why == PAIRED_TOO_FEW)
		return many < PAIRED_CELLS_MIN && r->longest_s >= PAIRED_CELLS_MIN * SHORTEST_S;
	if (r->test == TEST_PAIRED && row->test.why == PAIRED_TOO_ALIKE)
		return r->cells < PAIRED_ALIKE_MIN &&
		       r->shortest_s >= PAIRED_ALIKE_MIN * SHORTEST_S;
	return false;
}

static const char *what_to_do(const struct compare_result *r, const struct compare_row *row)
{
	if (shorter_helps(r, row))
		return "use --interval 100ms";
	if (r->test != TEST_RANKS && row->test.why == PAIRED_LITTLE_WORK)
		return "if both completed the same job, use --per job; else repeat the runs, and "
		       "compare at least 4 before with 4 after";
	return "repeat the runs, and compare at least 4 before with 4 after";
}

static void say_untested(FILE *out, const struct compare_result *r)
{
	const struct compare_row *row = say_direction(out, r);

	if (!row) {
		fputs("not compared: neither time nor waiting was measured in all runs", out);
		return;
	}
	fputs(", not proven: ", out);
	if (r->test == TEST_RANKS)
		fprintf(out, "%zu and %zu runs are too few to tell a change from noise", r->runs_a,
			r->runs_b);
	else if (row->test.why == PAIRED_TOO_FEW)
		fprintf(out, "too few intervals to tell a change from noise (%s and %s)",
			human_exact((int64_t)r->intervals_a).text,
			human_exact((int64_t)r->intervals_b).text);
	else if (row->test.why == PAIRED_LITTLE_WORK)
		fputs("one run did less than half of the other's work", out);
	else if (row->test.why == PAIRED_TOO_ALIKE)
		fputs("neighbouring intervals are too alike to tell a change from noise", out);
	else
		fputs(compare_why(row), out);
	fprintf(out, "; %s", what_to_do(r, row));
}

void compare_sentence(FILE *out, const struct compare_result *r)
{
	static const char *const heads[VERDICT_NR] = {
		[VERDICT_UNTESTED] = "",	  [VERDICT_SAME] = "no difference seen:",
		[VERDICT_IMPROVED] = "improved:", [VERDICT_WORSE] = "worse:",
		[VERDICT_MIXED] = "mixed:",
	};

	fputs(heads[r->verdict], out);
	if (r->verdict == VERDICT_UNTESTED)
		say_untested(out, r);
	else if (r->verdict == VERDICT_SAME)
		say_detectable(out, r);
	else
		say_deciding(out, r);
	fputs(".", out);
	if (r->test == TEST_RANKS)
		fprintf(out, " %s, %zu run%s before and %zu after.", compare_test_name(r->test),
			r->runs_a, &"s"[r->runs_a == 1], r -> runs_b);
}

/* "last-5 last-3 last-1" before, "last-4 last-2 last" after: the newest runs, made in turn. */
static void say_side(FILE *out, const struct compare_side *side, bool after, size_t more)
{
	for (size_t i = 0; i < side->nr; i++)
		fprintf(out, " %" PRId64, side->runs[i].run.id);
	for (size_t back = 2 * more; back >= 2; back -= 2)
		if (back > 2 || !after)
			fprintf(out, " last-%zu", back - 1 - after);
		else
			fputs(" last", out);
}

size_t compare_runs_missing(const struct compare_model *m, const struct compare_job *job)
{
	size_t fewer = m->side[m->side[1].nr < m->side[0].nr].nr;

	return job->result.verdict == VERDICT_UNTESTED && fewer < RUNS_FOR_TIME
		       ? RUNS_FOR_TIME - fewer
		       : 0;
}

void compare_command(FILE *out, const struct compare_model *m, const struct compare_job *job)
{
	_cleanup_free_ char *word = NULL;
	size_t more = compare_runs_missing(m, job);

	fputs("cachemon compare", out);
	if (m->db && !quote_word(m->db, &word))
		fprintf(out, " --db %s", word ?: "");
	say_side(out, &m->side[0], false, more);
	fputs(" vs", out);
	say_side(out, &m->side[1], true, more);
	if (job->result.per == PER_JOB)
		fputs(" --per job", out);
}

void compare_time_sentence(FILE *out, const struct compare_job *job)
{
	const struct compare_result *r = &job->result;
	const struct compare_row *row = row_of(r, "time_per_work");
	const char *unit = compare_unit(r, row->metric);
	const char *why = compare_why(row);
	double low, high;

	if (row->outcome == OUTCOME_UNKNOWN || !unit) {
		fprintf(out, "Time: not compared%s%s.", why ? ": " : "", why ? why : "");
		return;
	}
	fprintf(out, "Time, %s: %s before, %s after, %s", unit, compare_value(unit, row->a).s,
		compare_value(unit, row->b).s, compare_change(row).s);
	if (compare_interval(row, &low, &high))
		fprintf(out, "; 95 %% interval of the difference: %s to %s: %s.",
			compare_difference(unit, low).s, compare_difference(unit, high).s,
			compare_mark_text(row));
	else
		fprintf(out, ". Not tested: %s.", why ? why : "no interval could be computed");
}
