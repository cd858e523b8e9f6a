/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/top/columns.h"

#include <stdio.h>

#include "cachemon/base/human.h"

static const struct top_column_info columns[TOP_NR_COLUMNS] = {
	[TOP_NAME] = {"name", NULL, "name", 12, true},
	[TOP_HITS] = {"hits", "HITS", "lookups found in the cache", 8, true},
	[TOP_MISSES] = {"misses", "MISSES/s", "pages not in the cache", 9, false},
	[TOP_LOOKUPS] = {"lookups", "LOOKUPS/s", "pages that reads asked for", 10, false},
	[TOP_WAITED] = {"waited", "WAITED/s", "time tasks slept for pages", 9, false},
	[TOP_PREFETCHED] = {"prefetched", "PREFETCHED/s", "pages read ahead", 13, false},
	[TOP_EVICTED] = {"evicted", "EVICTED/s", "pages that left the cache", 10, false},
	[TOP_ACCURACY] = {"accuracy", "ACCURACY", "prefetched pages used", 9, true},
	[TOP_WASTED] = {"wasted", "WASTED/s", "prefetched but never used", 9, false},
	[TOP_READ] = {"read", "READ/s", "bytes returned by reads", 9, false},
	[TOP_REFAULTS] = {"refaults", "REFAULTS/s", "evicted pages read again", 11, false},
	[TOP_CPU] = {"cpu", "CPU", "CPUs the job kept busy", 6, false},
	[TOP_WAITS] = {"waits", "WAITS/s", "times that tasks slept", 8, false},
	[TOP_CALLS] = {"calls", "CALLS/s", "read calls", 8, false},
};

const struct top_column_info *top_column_info(enum top_column c)
{
	return &columns[c];
}

static struct opt_f64 per_second(struct opt_i64 v, int64_t duration_ns)
{
	return (struct opt_f64){
		.value = duration_ns > 0 ? (double)v.value * 1e9 / (double)duration_ns : 0,
		.known = v.known && v.value >= 0 && duration_ns > 0,
	};
}

static struct opt_i64 whole_of(struct opt_f64 v)
{
	struct opt_i64 ret = {.known = v.known && v.value < 9e18};

	ret.value = ret.known ? (int64_t)(v.value + 0.5) : 0;
	return ret;
}

/* A value above 0 must not appear as 0. */
static struct shown show_rate(struct opt_f64 rate)
{
	struct opt_i64 whole = whole_of(rate);
	struct shown ret = {"-"};

	if (whole.known && whole.value == 0 && rate.value > 0)
		snprintf(ret.s, sizeof(ret.s), "<1");
	else if (whole.known)
		snprintf(ret.s, sizeof(ret.s), "%s", human_count((uint64_t)whole.value).text);
	return ret;
}

static struct top_figure number_per_second(const struct counts *c, enum counter which,
					   struct opt_i64 v, int64_t duration_ns)
{
	struct top_figure f = {.value = per_second(v, duration_ns)};

	f.shown = show_least(show_about(show_rate(f.value), counts_estimated(c, which)),
			     counts_lower_bound(c, which));
	return f;
}

static struct top_figure bytes_per_second(const struct counts *c, enum counter which,
					  struct opt_i64 v, int64_t duration_ns)
{
	struct top_figure f = {.value = per_second(v, duration_ns)};

	f.shown = show_least(show_bytes(whole_of(f.value), counts_estimated(c, which)),
			     counts_lower_bound(c, which));
	return f;
}

/* A process's bytes are not those of files of the page cache, which other rows have. */
static struct top_figure read_figure(const struct top_row *row, int64_t duration_ns)
{
	struct top_figure f;

	if (!row->process)
		return bytes_per_second(&row->counts, C_read_bytes,
					counts_get(&row->counts, C_read_bytes), duration_ns);
	f.value = per_second(row->rchar_bytes, duration_ns);
	f.shown = show_bytes(whole_of(f.value), false);
	return f;
}

static struct top_figure calls_figure(const struct top_row *row, int64_t duration_ns)
{
	struct top_figure f;

	if (!row->process)
		return number_per_second(&row->counts, C_read_calls,
					 counts_get(&row->counts, C_read_calls), duration_ns);
	f.value = per_second(row->syscr_calls, duration_ns);
	f.shown = show_rate(f.value);
	return f;
}

static struct top_figure waited_per_second(const struct counts *c, int64_t duration_ns)
{
	struct top_figure f = {.value = per_second(counts_get(c, C_stall_ns), duration_ns)};

	f.shown = show_least(show_ns(whole_of(f.value)), counts_lower_bound(c, C_stall_ns));
	return f;
}

static struct top_figure share_figure(struct opt_f64 v, bool estimated)
{
	return (struct top_figure){.value = v, .shown = show_ratio(v, estimated)};
}

static struct top_figure cpus_figure(struct opt_i64 cpu_ns, int64_t duration_ns)
{
	struct top_figure f = {.value = per_second(cpu_ns, duration_ns)};

	f.value.value /= 1e9;
	f.shown = show_double(f.value, 2);
	return f;
}

struct top_figure top_column_figure(enum top_column column, const struct top_row *row,
				    int64_t duration_ns, int64_t page_size_bytes)
{
	const struct counts *c = &row->counts;
	struct derived d;

	if (row->run_id) {
		duration_ns = row->duration_ns;
		page_size_bytes = row->page_size_bytes;
	}
	counts_derive(c, page_size_bytes, &d);
	switch (column) {
	case TOP_HITS:
		return share_figure(d.hit_ratio, c->sliced);
	case TOP_MISSES:
		return number_per_second(c, C_misses, counts_get(c, C_misses), duration_ns);
	case TOP_LOOKUPS:
		return number_per_second(c, C_lookups, counts_get(c, C_lookups), duration_ns);
	case TOP_WAITED:
		return waited_per_second(c, duration_ns);
	case TOP_PREFETCHED:
		return number_per_second(c, C_prefetched_sync, d.prefetched_pages, duration_ns);
	case TOP_EVICTED:
		return number_per_second(c, C_evicted_other, d.evicted_pages, duration_ns);
	case TOP_ACCURACY:
		return share_figure(d.accuracy, c->sliced);
	case TOP_WASTED:
		return bytes_per_second(c, C_evicted_unused, d.waste_bytes, duration_ns);
	case TOP_READ:
		return read_figure(row, duration_ns);
	case TOP_REFAULTS:
		return number_per_second(c, C_refaults, counts_get(c, C_refaults), duration_ns);
	case TOP_CPU:
		return cpus_figure(row->cpu_ns, duration_ns);
	case TOP_WAITS:
		return number_per_second(c, C_stalls, counts_get(c, C_stalls), duration_ns);
	case TOP_CALLS:
		return calls_figure(row, duration_ns);
	default:
		return (struct top_figure){.shown = {"-"}};
	}
}
