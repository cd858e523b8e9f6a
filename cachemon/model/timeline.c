/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/timeline.h"

#include <math.h>
#include <string.h>

#include "cachemon/figures/show.h"

void timeline_begin(struct timeline *t, int64_t end_ns)
{
	*t = (struct timeline){0};
	/* Rounded up: the last bucket is the last place. */
	t->length_ns = end_ns > 0 ? end_ns / TIMELINE_BUCKETS + 1 : 1;
}

static void add_bucket(struct timeline_bucket *into, const struct timeline_bucket *b)
{
	into->duration_ns = add_saturating(into->duration_ns, b->duration_ns);
	into->read_on_ns = add_saturating(into->read_on_ns, b->read_on_ns);
	into->intervals = add_saturating(into->intervals, b->intervals);
	into->cpu_ns = opt_add(into->cpu_ns, b->cpu_ns);
	counts_add(&into->counts, &b->counts);
}

void timeline_add(struct timeline *t, const struct timeline_bucket *interval)
{
	struct timeline_bucket *last = t->nr ? &t->buckets[t->nr - 1] : NULL;
	struct timeline_bucket b = *interval;

	for (enum counter c = 0; c < C_NR && b.read_on_ns < b.duration_ns; c++)
		if (counts_estimated(&b.counts, c))
			counts_forget(&b.counts, c);
	if (last && (t->nr == TIMELINE_BUCKETS ||
		     last->start_ns / t->length_ns == b.start_ns / t->length_ns))
		add_bucket(last, &b);
	else
		t->buckets[t->nr++] = b;
}

/* Counters that go up and down by their nature. */
static bool is_gauge(int which)
{
	return which == C_resident_unused ||
	       (which >= C_window_log2_0 && which <= C_window_log2_15);
}

/* A call that is in progress when an interval ends counts its lookups in one interval and may count
 * misses in the next; a page that counted as used may turn out to have been late. */
static bool takes_back(const struct counts *c)
{
	for (int i = 0; i < C_NR; i++)
		if (c->known[i] && c->c[i] < 0 && !is_gauge(i))
			return true;
	return c->known[C_lookups] && c->known[C_misses] && c->c[C_lookups] < c->c[C_misses];
}

static void merge_into_previous(struct timeline *t, size_t i)
{
	add_bucket(&t->buckets[i - 1], &t->buckets[i]);
	memmove(&t->buckets[i], &t->buckets[i + 1], (t->nr - i - 1) * sizeof(t->buckets[0]));
	t->nr--;
}

static void take_rest(struct timeline *t, const struct counts *total, struct opt_i64 cpu_ns)
{
	struct counts *rest = &t->rest.counts;

	*rest = *total;
	for (size_t i = 0; i < t->nr; i++) {
		counts_subtract(rest, &t->buckets[i].counts);
		cpu_ns = opt_sub(cpu_ns, t->buckets[i].cpu_ns);
	}
	t->rest.cpu_ns = cpu_ns;
	t->has_rest = counts_any(rest) || (cpu_ns.known && cpu_ns.value);
}

void timeline_end(struct timeline *t, const struct counts *total, struct opt_i64 cpu_ns)
{
	/* From the end, because the sum with the previous bucket may be below 0 again. */
	for (size_t i = t->nr; i-- > 1;)
		if (takes_back(&t->buckets[i].counts))
			merge_into_previous(t, i);
	take_rest(t, total, cpu_ns);
}

enum { TERMS_MAX = 5 };

/* Sums of counters; hits come from two others. */
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

static struct opt_i64 amount_of(const struct counts *c, enum timeline_rate which)
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
	struct opt_i64 n = amount_of(&b->counts, which);

	if (!n.known || b->duration_ns <= 0)
		return NAN;
	/* A rate does not show earlier counts that are taken back here. */
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
