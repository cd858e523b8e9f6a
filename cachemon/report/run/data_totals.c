/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/data.h"

#include <inttypes.h>
#include <string.h>

/* Prints all digits of the nanoseconds. */
void data_seconds(struct tree *t, const char *key, struct opt_i64 ns)
{
	enum { NS_PER_S = 1000000000 };
	char text[40];

	if (!ns.known || ns.value < 0) {
		tree_null(t, key);
		return;
	}
	snprintf(text, sizeof(text), "%" PRId64 ".%09" PRId64, ns.value / NS_PER_S,
		 ns.value % NS_PER_S);
	tree_number(t, key, text);
}

/* "<key>_estimated": true, after a known value. */
static void mark_estimated(struct tree *t, const char *key, bool estimated)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_estimated", key);
	tree_mark(t, name, estimated);
}

/* "<key>_lower_bound": true, in the same way. */
static void mark_least(struct tree *t, const char *key, bool lower_bound)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_lower_bound", key);
	tree_mark(t, name, lower_bound);
}

static void put_count(struct tree *t, const char *key, struct opt_i64 v, bool estimated)
{
	tree_opt_int(t, key, v);
	mark_estimated(t, key, estimated && v.known);
}

static void put_ratio(struct tree *t, const char *key, struct opt_f64 v, bool estimated)
{
	if (!v.known) {
		tree_null(t, key);
		return;
	}
	tree_double(t, key, v.value);
	mark_estimated(t, key, estimated);
}

static void put_bound(struct tree *t, const char *key, const char *end, double v, bool whole)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", key, end);
	if (whole)
		tree_int(t, name, (int64_t)(v + 0.5));
	else
		tree_double(t, name, v);
}

/* "<key>_low" and "<key>_high": the 90 % interval. */
static void put_interval(struct tree *t, const char *key, const struct range *r, bool whole)
{
	put_bound(t, key, "low", r->low.value, whole);
	put_bound(t, key, "high", r->high.value, whole);
}

static void put_estimate(struct tree *t, const struct counts *c, enum read_estimate e)
{
	struct range r;

	if (counts_range(c, e, &r))
		put_interval(t, estimate_name(e), &r, e != ESTIMATE_HIT_RATIO);
}

static void put_as(struct tree *t, const char *key, const struct counts *c, enum counter which)
{
	put_count(t, key, counts_get(c, which), counts_estimated(c, which));
}

static void put_counter(struct tree *t, const struct counts *c, enum counter which)
{
	put_as(t, counter_name(which), c, which);
}

/* Marks the counter itself; a key of the row shows that the whole row is a lower bound. */
static bool is_least(const struct counts *c, enum counter which)
{
	return !(c->bounds & BOUND_ROW) && counts_lower_bound(c, which);
}

static void put_bounded(struct tree *t, const struct counts *c, enum counter which)
{
	put_counter(t, c, which);
	mark_least(t, counter_name(which), c->known[which] && is_least(c, which));
}

/* Consecutive counters with a common prefix: their keys are the rest of the names. */
static void put_range(struct tree *t, const char *key, const char *beginning,
		      const struct counts *c, enum counter first, enum counter last)
{
	tree_object(t, key);
	for (enum counter i = first; i <= last; i++)
		put_as(t, counter_name(i) + strlen(beginning), c, i);
	tree_end(t);
}

static void put_share(struct tree *t, const char *key, struct opt_f64 v, const struct range *r)
{
	put_ratio(t, key, v, r->low.known);
	if (v.known && r->low.known)
		put_interval(t, key, r, false);
}

static void put_prefetch(struct tree *t, const struct counts *c, const struct derived *d)
{
	tree_object(t, "prefetch");
	put_range(t, "origin", "prefetched_", c, C_prefetched_sync, C_prefetched_mmap_around);
	put_range(t, "fate", "", c, C_used, C_untracked);
	mark_least(t, "fate", c->known[C_used] && is_least(c, C_used));
	put_share(t, "accuracy", d->accuracy, &d->accuracy_range);
	put_share(t, "coverage", d->coverage, &d->coverage_range);
	put_share(t, "timeliness", d->timeliness, &d->timeliness_range);
	tree_end(t);
}

/* Up to the last power of two that occurred; null if sizes were not measured. */
static void put_windows(struct tree *t, const struct counts *c)
{
	int nr = 1;
	bool known = true;

	for (int i = 0; i <= C_window_log2_15 - C_window_log2_0; i++) {
		struct opt_i64 n = counts_get(c, C_window_log2_0 + (enum counter)i);

		known = known && n.known;
		if (n.value)
			nr = i + 1;
	}
	tree_object(t, "windows");
	put_as(t, "sync", c, C_windows_sync);
	put_as(t, "async", c, C_windows_async);
	put_as(t, "forced", c, C_windows_forced);
	if (known) {
		tree_array(t, "size_pages_log2");
		for (int i = 0; i < nr; i++)
			tree_int(t, NULL, c->c[C_window_log2_0 + i]);
		tree_end(t);
	} else {
		tree_null(t, "size_pages_log2");
	}
	tree_end(t);
}

static void put_cached(struct tree *t, const struct counts *c, const struct derived *d)
{
	put_bounded(t, c, C_read_calls);
	put_estimate(t, c, ESTIMATE_READ_CALLS);
	put_bounded(t, c, C_read_bytes);
	put_estimate(t, c, ESTIMATE_READ_BYTES);
	put_bounded(t, c, C_lookups);
	put_estimate(t, c, ESTIMATE_LOOKUPS);
	put_count(t, "hits", d->hits, c->sliced);
	mark_least(t, "hits", d->hits.known && is_least(c, C_lookups));
	put_estimate(t, c, ESTIMATE_HITS);
	put_bounded(t, c, C_delayed_hits);
	put_estimate(t, c, ESTIMATE_DELAYED_HITS);
	put_counter(t, c, C_misses);
	put_ratio(t, "hit_ratio", d->hit_ratio, c->sliced);
	mark_least(t, "hit_ratio", d->hit_ratio.known && c->bounds & BOUND_READS);
	put_estimate(t, c, ESTIMATE_HIT_RATIO);
	put_counter(t, c, C_demand_pages);
	put_count(t, "prefetched_pages", d->prefetched_pages, false);
	put_counter(t, c, C_written_pages);
	put_counter(t, c, C_other_added_pages);
}

void data_hits(struct tree *t, const struct counts *c)
{
	struct derived d;

	counts_derive(c, 0, &d);
	put_counter(t, c, C_lookups);
	put_estimate(t, c, ESTIMATE_LOOKUPS);
	put_count(t, "hits", d.hits, c->sliced);
	put_estimate(t, c, ESTIMATE_HITS);
	put_counter(t, c, C_misses);
	put_ratio(t, "hit_ratio", d.hit_ratio, c->sliced);
	put_estimate(t, c, ESTIMATE_HIT_RATIO);
}

void data_totals(struct tree *t, const struct counts *c, int64_t page_size_bytes)
{
	struct derived d;

	counts_derive(c, page_size_bytes, &d);
	tree_object(t, "totals");
	put_cached(t, c, &d);
	put_prefetch(t, c, &d);
	put_windows(t, c);
	put_range(t, "evicted_pages", "evicted_", c, C_evicted_reclaim_kswapd,
		  C_evicted_reclaim_kswapd + EVICT_NR - 1);
	mark_least(t, "evicted_pages", is_least(c, C_evicted_reclaim_kswapd));
	put_bounded(t, c, C_evicted_not_added);
#define X(name, ...) put_bounded(t, c, C_##name);
	PLAIN_COUNTERS(X)
#undef X
	put_counter(t, c, C_refault_distance_pages);
	put_counter(t, c, C_refault_distance_ms);
	put_range(t, "faults", "faults_", c, C_faults_major, C_faults_minor);
	put_counter(t, c, C_mapped_pages_upper_bound);
	put_counter(t, c, C_direct_read_calls);
	put_counter(t, c, C_direct_read_bytes);
	put_count(t, "waste_bytes", d.waste_bytes, false);
	mark_least(t, "waste_bytes", d.waste_bytes.known && is_least(c, C_evicted_unused));
	put_counter(t, c, C_stall_ns);
	put_counter(t, c, C_stalls);
	tree_end(t);
}
