/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/figures/counts.h"

#include <stddef.h>

static struct opt_f64 ratio(struct opt_i64 part, struct opt_i64 whole)
{
	struct opt_f64 ret = {0};

	if (!part.known || !whole.known || whole.value <= 0 || part.value < 0)
		return ret;
	ret.value = (double)part.value / (double)whole.value;
	ret.known = ret.value <= 1;
	return ret;
}

struct opt_i64 counts_get(const struct counts *c, enum counter which)
{
	return (struct opt_i64){
		.value = c->c[which],
		.known = c->known[which] && c->c[which] >= 0,
	};
}

static void counts_set(struct counts *c, enum counter which, struct opt_i64 v)
{
	c->c[which] = v.known ? v.value : 0;
	c->known[which] = v.known;
}

void counts_forget(struct counts *c, enum counter which)
{
	counts_set(c, which, (struct opt_i64){0});
}

void counts_forget_stall(struct counts *c)
{
	for (enum counter k = 0; k < C_NR; k++)
		if (counter_group(k) == GROUP_STALL)
			counts_forget(c, k);
}

void counts_add(struct counts *sum, const struct counts *part)
{
	for (int i = 0; i < C_NR; i++)
		counts_set(sum, i,
			   opt_add((struct opt_i64){sum->c[i], sum->known[i]},
				   (struct opt_i64){part->c[i], part->known[i]}));
}

void counts_subtract(struct counts *sum, const struct counts *part)
{
	for (int i = 0; i < C_NR; i++)
		sum->known[i] = sum->known[i] && part->known[i] &&
				!__builtin_sub_overflow(sum->c[i], part->c[i], &sum->c[i]);
}

bool counts_any(const struct counts *c)
{
	for (int i = 0; i < C_NR; i++)
		if (c->known[i] && c->c[i] != 0)
			return true;
	return false;
}

const char *estimate_name(enum read_estimate e)
{
	static const char *const names[ESTIMATES] = {"read_calls",   "read_bytes", "lookups",
						     "delayed_hits", "hits",	   "hit_ratio"};

	return names[e];
}

static bool by_read_hook(enum counter which)
{
	return counter_group(which) == GROUP_READ || counter_group(which) == GROUP_DELAY;
}

void counts_slice(struct counts *c, const struct estimates *e, bool stall_too)
{
	static const enum counter of[] = {
		[ESTIMATE_READ_CALLS] = C_read_calls,
		[ESTIMATE_READ_BYTES] = C_read_bytes,
		[ESTIMATE_LOOKUPS] = C_lookups,
		[ESTIMATE_DELAYED_HITS] = C_delayed_hits,
	};

	for (enum counter k = 0; k < C_NR; k++)
		if (by_read_hook(k))
			counts_forget(c, k);
	if (stall_too)
		counts_forget_stall(c);
	for (size_t i = 0; e && i < sizeof(of) / sizeof(of[0]); i++)
		counts_set(c, of[i], opt_round(e->of[i].value));
	c->sliced = true;
	c->estimates = e;
	if (!c->known[C_untracked] || c->c[C_untracked] > 0)
		c->bounds |= BOUND_FATES;
}

bool counts_estimated(const struct counts *c, enum counter which)
{
	return c->sliced && by_read_hook(which);
}

bool counts_range(const struct counts *c, enum read_estimate e, struct range *ret)
{
	if (!c->sliced || !c->estimates || !c->estimates->of[e].value.known)
		return false;
	*ret = c->estimates->of[e];
	return true;
}

bool counts_lower_bound(const struct counts *c, enum counter which)
{
	bool refaults = counter_group(which) == GROUP_GHOST;
	bool pages = refaults || (which >= C_used && which < C_untracked) ||
		     (which >= C_evicted_first && which <= C_evicted_not_added);

	return c->bounds & BOUND_ROW || (pages && c->bounds & BOUND_PAGES) ||
	       (refaults && c->bounds & BOUND_REFAULTS) ||
	       (by_read_hook(which) && c->bounds & BOUND_READS) ||
	       (which >= C_used && which < C_untracked && c->bounds & BOUND_FATES);
}

struct opt_i64 counts_part(const struct counts *c, enum counter which)
{
	struct opt_i64 v = counts_get(c, which);

	v.known = v.known || (which > C_evicted_other && which <= C_evicted_last);
	return v;
}

struct opt_i64 counts_sum(const struct counts *c, const int terms[])
{
	struct opt_i64 sum = {.known = true};

	/* A sum may lack this term, but here it is the only one. */
	if (terms[0] >= 0 && terms[0] != C_NR && terms[1] == C_NR)
		return counts_get(c, (enum counter)terms[0]);
	for (int i = 0; terms[i] != C_NR; i++)
		sum = terms[i] < 0 ? opt_sub(sum, counts_get(c, (enum counter)MINUS(terms[i])))
				   : opt_add(sum, counts_part(c, (enum counter)terms[i]));
	return sum;
}

static struct opt_i64 law_error(const struct counts *c, struct opt_i64 prefetched)
{
	struct opt_i64 fates = counts_sum(c, SUM_OF(TERMS_fates));
	struct opt_i64 diff = opt_sub(fates, prefetched);

	return diff.known ? diff : opt_sub(prefetched, fates);
}

/* The range of part / whole if that many pages of unknown fate may belong to both. Absent if the
 * range is wider than a quarter of the ratio. */
static struct range open_ratio(struct opt_i64 part, struct opt_i64 all, int64_t open)
{
	struct range r = {.value = ratio(part, all)};
	double most = (double)all.value + (double)open;

	if (!r.value.known)
		return r;
	r.low = (struct opt_f64){(double)part.value / most, true};
	r.high = (struct opt_f64){((double)part.value + (double)open) / most, true};
	r.value.known = r.high.value - r.low.value <= r.value.value / 4;
	return r;
}

/* A quarter of the pages that are known or possible: beyond that, a ratio of the rest is
 * meaningless. */
bool counts_too_many_open(double open, double known)
{
	return open * DIVISOR_fates_unknown > known;
}

bool counts_fates_unknown(const struct counts *c)
{
	static const int terms[] = {KNOWN_fates_unknown};
	struct opt_i64 open = counts_get(c, OPEN_fates_unknown);
	struct opt_i64 known = {.known = true};

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (counts_get(c, (enum counter)terms[i]).known)
			known = opt_add(known, counts_get(c, (enum counter)terms[i]));
	return !open.known || !known.known ||
	       counts_too_many_open((double)open.value, (double)known.value);
}

#define PART(name)	 counts_sum(c, SUM_OF(PART_##name))
#define WHOLE(name)	 counts_sum(c, SUM_OF(WHOLE_##name))
#define OPEN_RATIO(name) open_ratio(PART(name), WHOLE(name), open)

/* The ratios leave out pages of unknown fate: in a sliced run, those outside slices. If there are
 * many, as for mappings, the ratios are unknown. */
static void derive_prefetch(const struct counts *c, struct derived *ret)
{
	int64_t open = c->sliced ? c->c[C_untracked] : 0;

	if (counts_fates_unknown(c))
		return;
	ret->accuracy_range = OPEN_RATIO(accuracy);
	ret->coverage_range = OPEN_RATIO(coverage);
	ret->timeliness_range = OPEN_RATIO(timeliness);
	ret->accuracy = ret->accuracy_range.value;
	ret->coverage = ret->coverage_range.value;
	ret->timeliness = ret->timeliness_range.value;
	if (!open)
		ret->accuracy_range = ret->coverage_range = ret->timeliness_range =
			(struct range){0};
}

bool counts_mapped(const struct counts *c, struct opt_i64 processes)
{
	return counters_mapped(counts_get(c, C_lookups), counts_get(c, C_faults_major),
			       counts_get(c, C_mapped_pages_upper_bound), processes);
}

void counts_derive(const struct counts *c, int64_t page_size_bytes, struct derived *ret)
{
	struct opt_i64 unused = counts_get(c, C_evicted_unused);
	struct range estimated;

	*ret = (struct derived){0};
	ret->hits = counts_sum(c, SUM_OF(TERMS_hits));
	ret->prefetched_pages = counts_sum(c, SUM_OF(TERMS_prefetched_pages));
	ret->windows = counts_sum(c, SUM_OF(TERMS_windows));
	ret->evicted_pages = counts_sum(c, SUM_OF(TERMS_evicted_pages));
	ret->waste_bytes = opt_mul(unused, page_size_bytes);
	ret->waste_bytes.known = ret->waste_bytes.known && page_size_bytes > 0;
	ret->law_error_pages = law_error(c, ret->prefetched_pages);
	ret->hit_ratio = ratio(PART(hit_ratio), WHOLE(hit_ratio));
	/* Each ratio has its own interval: it may be known although its terms are too uncertain. */
	if (c->sliced) {
		estimated = (struct range){0};
		counts_range(c, ESTIMATE_HITS, &estimated);
		ret->hits = opt_round(estimated.value);
		estimated = (struct range){0};
		counts_range(c, ESTIMATE_HIT_RATIO, &estimated);
		ret->hit_ratio = estimated.value;
	}
	derive_prefetch(c, ret);
}
