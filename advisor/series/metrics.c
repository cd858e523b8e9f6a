/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/metrics.h"

#include <math.h>

#include "cachemon/figures/counters.h"

#define MIB 1048576.0

/* 100 pages a second are 400 KiB/s: no device notices them. A twentieth of a ratio is what a reader
 * of a report would call another one. Memory that moves by less than 4 MiB/s takes minutes to
 * matter. */
#define FEW_PAGES  100
#define FEW_BYTES  (4 * MIB)
#define FEW_SHARE  0.05
#define FEW_MEMORY (4 * MIB)

static const struct {
	struct series_metric metric;
	double least;
} figures[FIGURE_NR] = {
	[FIGURE_HIT_RATIO] = {{"hit_ratio", LABEL_hit_ratio, "ratio"}, FEW_SHARE},
	[FIGURE_MISSES] = {{"misses_per_s", "misses", "pages/s"}, FEW_PAGES},
	[FIGURE_LOOKUPS] = {{"lookups_per_s", "lookups", "pages/s"}, 10 * FEW_PAGES},
	[FIGURE_READ_BYTES] = {{"read_bytes_per_s", "bytes read", "bytes/s"}, FEW_BYTES},
	[FIGURE_PREFETCHED] = {{"prefetched_per_s", "prefetched pages", "pages/s"}, FEW_PAGES},
	[FIGURE_WASTED] = {{"wasted_per_s", "evicted unused", "pages/s"}, FEW_PAGES},
	[FIGURE_EVICTED] = {{"evicted_per_s", "evictions", "pages/s"}, FEW_PAGES},
	[FIGURE_REFAULTS] = {{"refaults_per_s", "refaults", "pages/s"}, FEW_PAGES},
	[FIGURE_STALL] = {{"stall_share", "stall", "tasks"}, FEW_SHARE},
	[FIGURE_CPU] = {{"cpu_share", "CPU use", "CPUs"}, FEW_SHARE},
	[FIGURE_AVAILABLE] = {{"available_growth", "growth of the machine's available memory",
			       "bytes/s"},
			      FEW_MEMORY},
	[FIGURE_JOB_MEMORY] = {{"job_memory_growth", "growth of the job's memory", "bytes/s"},
			       FEW_MEMORY},
	[FIGURE_JOB_FILES] = {{"job_file_growth", "growth of the job's page cache", "bytes/s"},
			      FEW_MEMORY},
};

const struct series_metric *series_metric(enum series_figure f)
{
	return &figures[f].metric;
}

double series_least(enum series_figure f)
{
	return figures[f].least;
}

double series_lowest(enum series_figure f)
{
	return f >= FIGURE_AVAILABLE ? -INFINITY : 0;
}

#define A_LOOKUP  "misses are counted among lookups"
#define A_READ	  "a read looks up each of its pages, and its misses are among them"
#define A_VOLUME  "readahead goes as far as the reading does, and begins with a miss"
#define A_REFAULT "a page that comes again is a miss, or prefetched"
#define AN_EVENT  "pages evicted unused are counted among evictions"
#define A_GROWTH  "what comes into the cache and what leaves it is its growth"
#define A_PART	  "the job's page cache is part of its memory"
#define A_COPY	  "to read is to copy, which takes CPU time in any job"

static const struct {
	enum series_figure a, b;
	const char *why;
} bound[] = {
	{FIGURE_HIT_RATIO, FIGURE_MISSES, A_LOOKUP},
	{FIGURE_HIT_RATIO, FIGURE_LOOKUPS, A_LOOKUP},
	{FIGURE_MISSES, FIGURE_LOOKUPS, A_LOOKUP},
	{FIGURE_HIT_RATIO, FIGURE_READ_BYTES, A_READ},
	{FIGURE_MISSES, FIGURE_READ_BYTES, A_READ},
	{FIGURE_LOOKUPS, FIGURE_READ_BYTES, A_READ},
	{FIGURE_HIT_RATIO, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_MISSES, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_LOOKUPS, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_READ_BYTES, FIGURE_PREFETCHED, A_VOLUME},
	{FIGURE_HIT_RATIO, FIGURE_REFAULTS, A_REFAULT},
	{FIGURE_MISSES, FIGURE_REFAULTS, A_REFAULT},
	{FIGURE_PREFETCHED, FIGURE_REFAULTS, A_REFAULT},
	{FIGURE_WASTED, FIGURE_EVICTED, AN_EVENT},
	{FIGURE_MISSES, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_PREFETCHED, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_REFAULTS, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_EVICTED, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_WASTED, FIGURE_JOB_FILES, A_GROWTH},
	{FIGURE_MISSES, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_PREFETCHED, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_REFAULTS, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_EVICTED, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_WASTED, FIGURE_JOB_MEMORY, A_GROWTH},
	{FIGURE_JOB_MEMORY, FIGURE_JOB_FILES, A_PART},
	{FIGURE_LOOKUPS, FIGURE_CPU, A_COPY},
	{FIGURE_READ_BYTES, FIGURE_CPU, A_COPY},
};

const char *series_bound(enum series_figure a, enum series_figure b)
{
	for (size_t i = 0; i < sizeof(bound) / sizeof(bound[0]); i++)
		if ((bound[i].a == a && bound[i].b == b) || (bound[i].a == b && bound[i].b == a))
			return bound[i].why;
	return NULL;
}
