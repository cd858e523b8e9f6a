/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/timeline_rates.h"

#include <math.h>

#include "cachemon/figures/show.h"

enum { TERMS_MAX = 5 };

/* Sums of counters; hits are made of two others. */
static const struct {
	size_t nr;
	enum counter terms[TERMS_MAX];
} sums[RATE_NR] = {
	[RATE_MISSES] = {1, {C_misses}},
	[RATE_USED] = {1, {C_used}},
	[RATE_LATE] = {1, {C_used_late}},
	[RATE_WASTED] = {1, {C_evicted_unused}},
	[RATE_RESIDENT] = {1, {C_resident_unused}},
	[RATE_UNTRACKED] = {1, {C_untracked}},
	[RATE_BY_KSWAPD] = {1, {C_evicted_reclaim_kswapd}},
	[RATE_BY_TASK] = {1, {C_evicted_reclaim_direct}},
	[RATE_BY_LIMIT] = {1, {C_evicted_reclaim_memcg}},
	[RATE_DROPPED] = {2, {C_evicted_dontneed, C_evicted_drop_caches}},
	[RATE_ELSE] = {5,
		       {C_evicted_truncate, C_evicted_direct_io, C_evicted_other,
			C_evicted_invalidate, C_evicted_dontcache}},
	[RATE_STALL] = {1, {C_stall_ns}},
};

static struct opt_i64 amount(const struct counts *c, enum timeline_rate which)
{
	struct opt_i64 sum = {.known = true};
	struct derived d;

	if (which == RATE_HITS) {
		counts_derive(c, 1, &d);
		return d.hits;
	}
	for (size_t i = 0; i < sums[which].nr; i++) {
		enum counter term = sums[which].terms[i];
		bool known = c->known[term] || counts_part(c, term).known;

		sum = opt_add(sum, (struct opt_i64){c->c[term], known});
	}
	return sum;
}

double timeline_rate(const struct timeline_bucket *b, enum timeline_rate which)
{
	struct opt_i64 n = amount(&b->counts, which);

	if (!n.known || b->duration_ns <= 0)
		return NAN;
	/* What was counted before and taken back here is none. */
	return fmax((double)n.value, 0) * (which == RATE_STALL ? 1 : 1e9) / (double)b->duration_ns;
}

const char *timeline_rate_mark(const struct counts *whole, enum timeline_rate which)
{
	bool least = which == RATE_HITS && counts_lower_bound(whole, C_lookups);

	for (size_t i = 0; i < sums[which].nr; i++)
		least = least || counts_lower_bound(whole, sums[which].terms[i]);
	return least ? MARK_LEAST : NULL;
}

double timeline_from_s(const struct timeline_bucket *b)
{
	return (double)b->start_ns / 1e9;
}

double timeline_to_s(const struct timeline_bucket *b)
{
	return (double)(b->start_ns + b->duration_ns) / 1e9;
}
