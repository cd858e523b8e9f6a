/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "advisor/compare/paired.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"
#include "cachemon/figures/show.h"

/* Of a verdict's metrics a sentence names the first. */
enum { NAMED_MAX = 3 };

const char *compare_test_name(bool lone)
{
	return lone ? "t test on batch means of the longer run" : "paired t test on batch means";
}

const char *compare_method(bool lone)
{
	if (lone)
		return "t test on batch means of the longer run: the other one has fewer than 20 "
		       "intervals, too few to tell how much they are alike. Were both runs of the "
		       "same, as far as both did as much, the error of the longer one's mean would "
		       "be the shorter one's too, "
		       "so it counts for both, or what the shorter one's few intervals say (three "
		       "of them taken for one value, and all for three at most) if that is more. "
		       "Nothing is paired. A beginning that both runs show at the same bytes is "
		       "taken apart first. p is two-sided, and adjusted by Holm's method for the "
		       "number of metrics tested.";
	static_assert(PAIRED_CELLS_MIN == 20 && LONE_CELLS_MIN == 2, "sentences here say how many");
	return "Paired t test on batch means: both runs are cut into as many cells of equal work, "
	       "cell k of one is set against cell k of the other, and the t test runs on the means "
	       "of long batches of their differences, its error widened by what neighbouring "
	       "intervals still have in common (a first-order process no less alike than they "
	       "are). A cold beginning that both runs have is taken apart first. p is two-sided, "
	       "and adjusted by Holm's method for the number of metrics tested.";
}

const char *compare_why(const struct compare_row *row)
{
	if (row->test.why == PAIRED_OF_WORK)
		return "it goes with what the runs are cut into pieces by: one value a run, of "
		       "which "
		       "nothing tells what is chance";
	if (row->outcome == OUTCOME_UNKNOWN)
		return row->partial ? "the per-read hook was off part of the time in one of the "
				      "runs: only estimates exist"
				    : "not measured in both runs";
	if (row->test.why == PAIRED_TOO_FEW)
		return "too few intervals: 20 in one of the runs are needed (watch --interval "
		       "100ms "
		       "gives more), and in the other two, with half of the work at least";
	if (row->test.why == PAIRED_TOO_ALIKE)
		return "neighbouring intervals are too alike: the runs are worth too few "
		       "independent values";
	if (row->metric->better == BETTER_NEITHER)
		return "neither side is better";
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
		fputs("; of the time it took and stalled nothing is sure", out);
}

/* What could not have been missed. */
static void say_detectable(FILE *out, const struct compare_result *r)
{
	fprintf(out, " of %zu metrics tested none changed by more than chance explains",
		r->nr_tested);
	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];

		if (isnan(row->p_adjusted) || row->a <= 0 || row->outcome != OUTCOME_NOISE)
			continue;
		fprintf(out, "; %s: a change of %.3g %% would have been seen in 4 of 5 such pairs",
			row->metric->label, 100 * row->test.detectable / row->a);
		break;
	}
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].outcome == OUTCOME_SMALL) {
			fputs(", or by so little that it does not matter", out);
			break;
		}
}

static void say_untested(FILE *out, const struct compare_result *r)
{
	int named = 0;

	fprintf(out, " %zu and %zu intervals tell nothing of chance", r->intervals_a,
		r->intervals_b);
	if (r->nr_tested)
		fputs(" in what matters most, and nothing else differs for sure", out);
	for (size_t i = 0; i < r->nr_rows && named < NAMED_MAX; i++) {
		const struct compare_row *row = &r->rows[i];

		if (row->outcome != OUTCOME_UNTESTED || row->metric->better == BETTER_NEITHER)
			continue;
		fputs(named++ ? ", " : "; as they are, ", out);
		say_change(out, r, row);
	}
}

void compare_sentence(FILE *out, const struct compare_result *r)
{
	static const char *const heads[VERDICT_NR] = {
		[VERDICT_UNTESTED] = "not judged, because",
		[VERDICT_SAME] = "no difference that can be told from noise:",
		[VERDICT_IMPROVED] = "improved:",
		[VERDICT_WORSE] = "worse:",
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
}

static const struct compare_row *row_of_time(const struct compare_result *r)
{
	for (size_t i = 0; i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].metric->key, "time_per_work"))
			return &r->rows[i];
	return NULL;
}

void compare_time_sentence(FILE *out, const struct compare_job *job)
{
	const struct compare_result *r = &job->result;
	const struct compare_row *row = row_of_time(r);
	const char *unit = row ? compare_unit(r, row->metric) : NULL;
	const char *why = row ? compare_why(row) : NULL;
	double low, high;

	if (!row || row->outcome == OUTCOME_UNKNOWN || !unit) {
		fprintf(out, "Time: not compared%s%s.", why ? ": " : "", why ? why : "");
		return;
	}
	fprintf(out, "Time, %s: %s before, %s after, %s", unit, compare_value(unit, row->a).s,
		compare_value(unit, row->b).s, compare_change(row).s);
	if (compare_interval(row, &low, &high))
		fprintf(out, "; the difference lies between %s and %s (95 %% interval): %s.",
			compare_difference(unit, low).s, compare_difference(unit, high).s,
			compare_mark_text(row));
	else
		fprintf(out, ". Whether that is more than chance was not judged: %s.",
			why ? why : "there was no test");
}
