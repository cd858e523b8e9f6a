/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/counts.h"

#include <stddef.h>

enum { CARRY_CALLS, CARRY_BYTES, CARRY_HITS, CARRY_DELAYED, CARRY_NR };
_Static_assert((int)CARRY_NR == (int)COUNTS_CARRIED, "a place for each counter that is scaled");

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
	sum->misses_read_on = opt_sub(sum->misses_read_on, part->misses_read_on);
}

bool counts_any(const struct counts *c)
{
	for (int i = 0; i < C_NR; i++)
		if (c->known[i] && c->c[i] != 0)
			return true;
	return false;
}

/* round(x * num / den) of non-negative numbers, half up. */
static struct opt_i64 scale_round(int64_t x, const struct slice_scale *s)
{
	struct opt_i64 ret = {0};
	__int128 wide = 0;

	if (s->den <= 0 || s->num < 0 || x < 0)
		return ret;
	wide = ((__int128)x * s->num * 2 + s->den) / ((__int128)s->den * 2);
	if (wide > INT64_MAX)
		return ret;
	ret.value = (int64_t)wide;
	ret.known = true;
	return ret;
}

static struct opt_i64 scale_next(struct opt_i64 raw, const struct slice_scale *s,
				 struct slice_carry *carry, int slot)
{
	struct opt_i64 sum = {.value = carry->raw[slot], .known = true};
	struct opt_i64 scaled = {0};
	struct opt_i64 ret = {0};

	sum = opt_add(sum, raw);
	if (!sum.known)
		return ret;
	scaled = scale_round(sum.value, s);
	if (!scaled.known)
		return ret;
	ret.value = scaled.value - carry->scaled[slot];
	ret.known = true;
	carry->raw[slot] = sum.value;
	carry->scaled[slot] = scaled.value;
	return ret;
}

/*
 * Misses are exact at all times, lookups were seen only while the hook was on. So it is the hits
 * that are scaled, and the estimated lookups are the exact misses and the estimated hits.
 */
void counts_scale(struct counts *c, const struct slice_scale *s, struct slice_carry *carry)
{
	struct opt_i64 hits = {0};

	if (!s->sliced)
		return;
	hits = scale_next(opt_sub(counts_get(c, C_lookups), c->misses_read_on), s, carry,
			  CARRY_HITS);
	counts_set(c, C_lookups, opt_add(counts_get(c, C_misses), hits));
	counts_set(c, C_read_calls, scale_next(counts_get(c, C_read_calls), s, carry, CARRY_CALLS));
	counts_set(c, C_read_bytes, scale_next(counts_get(c, C_read_bytes), s, carry, CARRY_BYTES));
	counts_set(c, C_delayed_hits,
		   scale_next(counts_get(c, C_delayed_hits), s, carry, CARRY_DELAYED));
	c->sliced = true;
}

bool counts_estimated(const struct counts *c, enum counter which)
{
	return c->sliced &&
	       (counter_group(which) == GROUP_READ || counter_group(which) == GROUP_DELAY);
}

bool counts_lower_bound(const struct counts *c, enum counter which)
{
	bool refaults = counter_group(which) == GROUP_GHOST;
	bool pages = refaults || (which >= C_used && which < C_untracked) ||
		     (which >= C_evicted_reclaim_kswapd && which <= C_evicted_other);

	return c->bounds & BOUND_ROW || (pages && c->bounds & BOUND_PAGES) ||
	       (refaults && c->bounds & BOUND_REFAULTS);
}

static struct opt_i64 counts_sum(const struct counts *c, enum counter first, enum counter last)
{
	struct opt_i64 sum = {.known = true};

	for (enum counter i = first; i <= last; i++)
		sum = opt_add(sum, counts_get(c, i));
	return sum;
}

static struct opt_i64 law_error(const struct counts *c, struct opt_i64 prefetched)
{
	struct opt_i64 fates = counts_sum(c, C_used, C_untracked);
	struct opt_i64 diff = opt_sub(fates, prefetched);

	return diff.known ? diff : opt_sub(prefetched, fates);
}

void counts_derive(const struct counts *c, int64_t page_size_bytes, struct derived *ret)
{
	struct opt_i64 used = opt_add(counts_get(c, C_used), counts_get(c, C_used_late));
	struct opt_i64 unused = counts_get(c, C_evicted_unused);
	/* While the hook is off no use is seen: only the misses of the time it was on compare. */
	struct opt_i64 misses = c->sliced ? c->misses_read_on : counts_get(c, C_misses);

	ret->hits = opt_sub(counts_get(c, C_lookups), counts_get(c, C_misses));
	ret->prefetched_pages = counts_sum(c, C_prefetched_sync, C_prefetched_mmap_around);
	ret->windows = counts_sum(c, C_windows_sync, C_windows_forced);
	ret->evicted_pages = counts_sum(c, C_evicted_reclaim_kswapd, C_evicted_other);
	ret->waste_bytes = opt_mul(unused, page_size_bytes);
	ret->waste_bytes.known = ret->waste_bytes.known && page_size_bytes > 0;
	ret->law_error_pages = law_error(c, ret->prefetched_pages);
	ret->hit_ratio = ratio(ret->hits, counts_get(c, C_lookups));
	ret->accuracy = ratio(used, opt_add(used, unused));
	ret->coverage = ratio(used, opt_add(used, misses));
	ret->timeliness = ratio(counts_get(c, C_used), used);
}
