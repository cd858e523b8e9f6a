/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/compare.h"

const char *compare_outcome_name(enum compare_outcome o)
{
	static const char *const names[OUTCOME_NR] = {
		[OUTCOME_UNKNOWN] = "unknown", [OUTCOME_UNTESTED] = "untested",
		[OUTCOME_NOISE] = "noise",     [OUTCOME_SMALL] = "small",
		[OUTCOME_BETTER] = "better",   [OUTCOME_WORSE] = "worse",
	};

	return names[o];
}

const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const names[VERDICT_NR] = {
		[VERDICT_UNTESTED] = "untested", [VERDICT_SAME] = "no-difference",
		[VERDICT_IMPROVED] = "improved", [VERDICT_WORSE] = "worse",
		[VERDICT_MIXED] = "mixed",
	};

	return names[v];
}

const char *compare_work_name(enum compare_work w)
{
	static const char *const names[WORK_NR] = {
		[WORK_READ] = "read_bytes",
		[WORK_RCHAR] = "rchar_bytes",
		[WORK_FAULTS] = "major_faults",
		[WORK_TIME] = "time",
	};

	return names[w];
}

const char *compare_unit(const struct compare_result *r, const struct compare_metric *m)
{
	if (r->per == PER_JOB)
		return m->job_unit;
	return r->work == WORK_TIME && m->time_unit ? m->time_unit : m->unit;
}
