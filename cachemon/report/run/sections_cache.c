/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include "cachemon/figures/show.h"

void sections_windows(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct counts *c = &job->counts;

	doc_para(d, "Readahead windows: %s synchronous, %s asynchronous, %s forced by advice.",
		 show_count(counts_get(c, C_windows_sync), false).s,
		 show_count(counts_get(c, C_windows_async), false).s,
		 show_count(counts_get(c, C_windows_forced), false).s);
	sections_sizes(d, m, job);
}

static void put_causes(struct doc *d, const struct counts *c, struct opt_i64 all, int64_t page_size)
{
	static const char *const names[EVICT_NR] = {
		[EVICT_RECLAIM_KSWAPD] = "reclaim in the background (kswapd)",
		[EVICT_RECLAIM_DIRECT] = "reclaim by a task short of memory",
		[EVICT_RECLAIM_MEMCG] = "reclaim by a memory limit",
		[EVICT_DONTNEED] = "DONTNEED advice",
		[EVICT_DROP_CACHES] = "drop_caches",
		[EVICT_TRUNCATE] = "file truncated or deleted",
		[EVICT_DIRECT_IO] = "direct I/O",
		[EVICT_OTHER] = "other",
		[EVICT_INVALIDATE] = "dropped as stale by the filesystem",
		[EVICT_DONTCACHE] = "calls with RWF_DONTCACHE",
	};
	static const struct doc_column columns[] = {
		{"CAUSE", DOC_LEFT},
		{"PAGES", DOC_RIGHT},
		{"AMOUNT", DOC_RIGHT},
		{"", DOC_BAR},
	};
	struct doc_table t = doc_table(NULL, columns, 4);

	for (int i = 0; i < EVICT_NR; i++) {
		enum counter cause = C_evicted_reclaim_kswapd + (enum counter)i;
		struct opt_i64 n = counts_get(c, cause);
		bool least = counts_lower_bound(c, cause);

		if (n.known && n.value == 0)
			continue;
		doc_cell(&t, "%s", names[i]);
		doc_cell(&t, "%s", show_least(show_count(n, false), least).s);
		doc_cell(&t, "%s", show_least(show_bytes(opt_mul(n, page_size), false), least).s);
		doc_cell(&t, "%.4f",
			 n.known && all.known && all.value > 0 ? (double)n.value / (double)all.value
							       : 0);
	}
	doc_put_table(d, &t);
}

static void put_distance(struct doc *d, const struct counts *c)
{
	struct opt_i64 refaults = counts_get(c, C_refaults);
	struct opt_i64 pages = counts_get(c, C_refault_distance_pages);
	struct opt_i64 ms = counts_get(c, C_refault_distance_ms);

	if (!refaults.known || refaults.value == 0 || !pages.known || !ms.known)
		return;
	doc_para(d, "%s%s pages came back, on average %s evictions and %s after they had left.",
		 counts_lower_bound(c, C_refaults) ? "At least " : "",
		 show_count(refaults, false).s,
		 show_count((struct opt_i64){pages.value / refaults.value, true}, false).s,
		 show_ns(opt_mul((struct opt_i64){ms.value / refaults.value, true}, 1000000)).s);
}

void sections_evictions(struct doc *d, const struct model *m, const struct model_job *job)
{
	struct derived derived;

	counts_derive(&job->counts, m->run.page_size_bytes.value, &derived);
	if (derived.evicted_pages.known && derived.evicted_pages.value == 0) {
		doc_para(d, counts_lower_bound(&job->counts, C_evicted_other)
				    ? "No page of the job was seen to leave the cache."
				    : "No page of the job left the cache.");
		return;
	}
	put_causes(d, &job->counts, derived.evicted_pages, m->run.page_size_bytes.value);
	put_distance(d, &job->counts);
}
