/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/compare/compare.h"

#define NS 1e-9

#define SUM(...) COMPARE_SUM(__VA_ARGS__)

#define RATIO(name) .num = SUM(PART_##name), .den = SUM(WHOLE_##name)

/* Three limits: 0.1 % of the pages of a GiB, 1 % of all, 5 % of the value before. */
#define FEW_OF_GIB     0.001
#define FEW_SHARE      0.01
#define TWENTIETH      0.05
#define PREFETCH_SHARE 0.05 /* five points */
#define BY_WORK	       SUM(X_WORK)
#define COUNT_UNIT(what)                                                                           \
	.unit = what " per GiB read", .time_unit = what " per second", .scale = METRIC_GIB,        \
	.time_scale = 1 / NS, .job_unit = what, .job_scale = 1, .den = BY_WORK,                    \
	.relevant_share = TWENTIETH, .relevant_of_gib = FEW_OF_GIB
#define PAGES_UNIT COUNT_UNIT("pages")
#define SHARE_UNIT                                                                                 \
	.unit = "ratio", .time_unit = "ratio", .scale = 1, .time_scale = 1, .job_unit = "ratio",   \
	.job_scale = 1, .share = true
#define RATIO_UNIT SHARE_UNIT, .relevant_least = FEW_SHARE
/* The share of prefetched pages has no better side: its effects are misses, waste and stall,
 * which have their own rows. A few points of it, perhaps of fewer pages, are neither gain nor
 * loss. */
#define PREFETCH_UNIT SHARE_UNIT, .relevant_least = PREFETCH_SHARE, .of_fates = true
#define TIME_UNIT                                                                                  \
	.unit = "s per GiB read", .scale = METRIC_GIB * NS, .job_unit = "s", .job_scale = NS,      \
	.den = BY_WORK, .relevant_share = TWENTIETH

static const struct compare_metric metrics[] = {
	{"time_per_work", "time", TIME_UNIT, .num = SUM(X_DURATION_NS), .better = BETTER_LOWER},
	{"stall_per_work", "stall", TIME_UNIT, .time_unit = "s per second", .time_scale = 1,
	 .num = SUM(C_stall_ns), .better = BETTER_LOWER},
	{"hit_ratio", LABEL_hit_ratio, RATIO_UNIT, RATIO(hit_ratio), .better = BETTER_HIGHER,
	 .rank = 1},
	{"misses_per_work", "misses", PAGES_UNIT, .num = SUM(C_misses), .better = BETTER_LOWER,
	 .rank = 1},
	{"brought_per_work", "pages brought in", PAGES_UNIT, .num = SUM(TERMS_brought_pages),
	 .better = BETTER_LOWER, .rank = 1},
	{"major_faults_per_work", "major faults", COUNT_UNIT("faults"), .num = SUM(C_faults_major),
	 .better = BETTER_LOWER, .rank = 1},
	{"prefetch_accuracy", "prefetch " LABEL_accuracy, PREFETCH_UNIT, RATIO(accuracy),
	 .better = BETTER_HIGHER, .rank = 1},
	{"prefetch_coverage", "prefetch " LABEL_coverage, PREFETCH_UNIT, RATIO(coverage),
	 .better = BETTER_HIGHER, .rank = 1},
	{"prefetch_timeliness", "prefetch " LABEL_timeliness, PREFETCH_UNIT, RATIO(timeliness),
	 .better = BETTER_HIGHER, .rank = 1},
	{"waste_per_work", "prefetched and evicted unused", PAGES_UNIT,
	 .num = SUM(C_evicted_unused), .better = BETTER_LOWER, .rank = 1},
	{"refaults_per_work", "refaults", PAGES_UNIT, .num = SUM(C_refaults),
	 .better = BETTER_LOWER, .rank = 1},
	{"reclaimed_per_work", "pages reclaimed", PAGES_UNIT, .num = SUM(TERMS_evicted_reclaim),
	 .better = BETTER_LOWER, .rank = 1},
	{"cpu_per_work", "CPU time", TIME_UNIT, .time_unit = "s per second", .time_scale = 1,
	 .num = SUM(X_CPU_NS), .better = BETTER_LOWER, .rank = 1},
	{"prefetched_per_work", "pages prefetched", PAGES_UNIT, .num = SUM(TERMS_prefetched_pages)},
	{"windows_per_work", "readahead windows", COUNT_UNIT("windows"), .num = SUM(TERMS_windows)},
	{"written_per_work", "pages added by writes", PAGES_UNIT, .num = SUM(C_written_pages)},
	{"minor_faults_per_work", "minor faults", COUNT_UNIT("faults"), .num = SUM(C_faults_minor)},
};

const struct compare_metric *compare_metric(size_t index)
{
	return index < sizeof(metrics) / sizeof(metrics[0]) ? &metrics[index] : NULL;
}

static const struct compare_total totals[] = {
	{"duration_ns", "duration", "ns", SUM(X_DURATION_NS)},
	{"stall_ns", "stall", "ns", SUM(C_stall_ns)},
	{"cpu_ns", "CPU time", "ns", SUM(X_CPU_NS)},
	{"read_bytes", "read through the cache", "bytes", SUM(C_read_bytes)},
	{"direct_read_bytes", "read around the cache", "bytes", SUM(C_direct_read_bytes)},
	{"lookups", "page lookups", "pages", SUM(C_lookups)},
	{"misses", "misses", "pages", SUM(C_misses)},
	{"demand_pages", "brought in on demand", "pages", SUM(C_demand_pages)},
	{"prefetched_pages", "prefetched", "pages", SUM(TERMS_prefetched_pages)},
	{"evicted_unused", "prefetched and evicted unused", "pages", SUM(C_evicted_unused)},
	{"reclaimed_pages", "reclaimed", "pages", SUM(TERMS_evicted_reclaim)},
	{"refaults", "refaults", "pages", SUM(C_refaults)},
	{"major_faults", "major faults", "", SUM(C_faults_major)},
};

const struct compare_total *compare_total(size_t index)
{
	return index < sizeof(totals) / sizeof(totals[0]) ? &totals[index] : NULL;
}

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
