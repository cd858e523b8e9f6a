/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advisor/stats/stats.h"
#include "cachemon/report/compare/compare_model.h"

static bool is_ratio(const char *unit)
{
	return strcmp(unit, "ratio") == 0;
}

static struct shown show_number(double v)
{
	struct shown ret = {0};
	struct opt_i64 whole = {.value = llround(v), .known = fabs(v) < 9e15};

	if (fabs(v) >= 99.95 && whole.known)
		return show_count(whole, false);
	/* Three digits, with zeros; counts have no decimals, except for rounding errors of sums. */
	snprintf(ret.s, sizeof(ret.s),
		 fabs(v - (double)whole.value) <= 1e-9 * fabs(v) ? "%.3g" : "%#.3g", v);
	return ret;
}

/* For a ratio; a value that rounds to 0 has no sign. */
static double points_of(double v)
{
	double ret = round(1000 * v) / 10;

	return ret == 0 ? 0 : ret;
}

struct shown compare_value(const char *unit, double v)
{
	if (is_ratio(unit))
		return show_ratio((struct opt_f64){v, true}, false);
	return show_number(v);
}

struct shown compare_span(const char *unit, double v)
{
	struct shown ret = {0};

	if (!is_ratio(unit))
		return show_number(v);
	snprintf(ret.s, sizeof(ret.s), "%.1f points", points_of(v));
	return ret;
}

/* The value with its sign, without its unit. */
static struct shown with_sign(const char *unit, double v)
{
	struct shown ret = {0};
	double tenths = points_of(v);

	if (is_ratio(unit))
		snprintf(ret.s, sizeof(ret.s), tenths == 0 ? "%.1f" : "%+.1f", tenths);
	else
		snprintf(ret.s, sizeof(ret.s), "%s%.40s", v > 0 ? "+" : "", show_number(v).s);
	return ret;
}

struct shown compare_difference(const char *unit, double v)
{
	struct shown ret = {0};

	snprintf(ret.s, sizeof(ret.s), "%.32s%s", with_sign(unit, v).s,
		 is_ratio(unit) ? " points" : "");
	return ret;
}

struct shown compare_range(const char *unit, double low, double high)
{
	struct shown ret = {0};

	snprintf(ret.s, sizeof(ret.s), "%.16s to %.16s%s", with_sign(unit, low).s,
		 with_sign(unit, high).s, is_ratio(unit) ? " points" : "");
	return ret;
}

struct shown compare_change(const struct compare_row *row)
{
	struct shown ret = {0};
	double difference = row->test.difference;
	double share = row->a > 0 ? difference / row->a : 0;

	if (difference == 0)
		snprintf(ret.s, sizeof(ret.s), "unchanged");
	else if (is_ratio(row->metric->unit))
		ret = compare_difference(row->metric->unit, difference);
	else if (row->a <= 0)
		snprintf(ret.s, sizeof(ret.s), "up from 0");
	else if (share >= 0.995)
		snprintf(ret.s, sizeof(ret.s), "%.20s times as much", show_number(1 + share).s);
	else if (share <= -1)
		snprintf(ret.s, sizeof(ret.s), "down to 0");
	else if (share < -0.995)
		snprintf(ret.s, sizeof(ret.s), "over 99 %% less");
	else
		snprintf(ret.s, sizeof(ret.s), "%.2g %% %s", 100 * fabs(share),
			 share < 0 ? "less" : "more");
	return ret;
}

struct shown compare_p(double p)
{
	struct shown ret = {0};

	if (p < 0.0001)
		snprintf(ret.s, sizeof(ret.s), "p < 0.0001");
	else
		snprintf(ret.s, sizeof(ret.s), "p = %.2g", p);
	return ret;
}

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
	if (compare_mark(row) != MARK_NOT_JUDGED && row->values) {
		*ret_low = row->low;
		*ret_high = row->high;
		return row->bounded;
	}
	if (compare_mark(row) == MARK_NOT_JUDGED || row->test.why != PAIRED_TESTED)
		return false;
	return paired_interval(&row->test, row->a, COMPARE_LEVEL, ret_low, ret_high);
}
