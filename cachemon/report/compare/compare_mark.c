/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_model.h"

#include <math.h>
#include <string.h>

#include "advisor/stats/stats.h"
#include "cachemon/report/compare/compare_show.h"

enum compare_mark compare_mark(const struct compare_row *row)
{
	switch (row->outcome) {
	case OUTCOME_NOISE:
		return MARK_NOISE;
	case OUTCOME_SMALL:
	case OUTCOME_BETTER:
	case OUTCOME_WORSE:
		return MARK_REAL;
	default:
		return MARK_NOT_JUDGED;
	}
}

const char *compare_mark_name(enum compare_mark mark)
{
	static const char *const names[MARK_NR] = {"real", "noise", "not-judged"};

	return names[mark];
}

const char *compare_mark_text(const struct compare_row *row)
{
	static const char *const texts[OUTCOME_NR] = {
		[OUTCOME_UNKNOWN] = "- not judged",  [OUTCOME_UNTESTED] = "- not judged",
		[OUTCOME_NOISE] = "○ noise",	     [OUTCOME_SMALL] = "● real, small",
		[OUTCOME_BETTER] = "● real, better", [OUTCOME_WORSE] = "● real, WORSE",
	};

	return texts[row->outcome];
}

bool compare_interval(const struct compare_row *row, double *ret_low, double *ret_high)
{
	const struct paired *t = &row->test;
	double half;

	if (compare_mark(row) == MARK_NOT_JUDGED || t->why != PAIRED_TESTED)
		return false;
	half = t->error * stats_student_quantile(1 - COMPARE_LEVEL / 2, t->degrees);
	if (!isfinite(half))
		return false;
	*ret_low = t->difference - half;
	*ret_high = t->difference + half;
	return true;
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
