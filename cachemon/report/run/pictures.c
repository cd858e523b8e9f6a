/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/pictures.h"

enum { SERIES_MAX = 5 };

_Static_assert(WINDOW_SIZES <= (int)BARS_MAX && READ_SIZES <= (int)BARS_MAX, "bars have room");

static const struct {
	const char *name;
	enum picture_unit unit;
	enum panel_kind kind;
	size_t nr;
	struct {
		const char *name;
		enum tone tone;
		enum timeline_rate rate;
	} series[SERIES_MAX];
} time_panels[] = {
	[TIME_LOOKUPS] = {"Lookups",
			  UNIT_PAGES_PER_S,
			  PANEL_STACK,
			  2,
			  {{"hits", TONE_HIT, RATE_HITS}, {"misses", TONE_MISS, RATE_MISSES}}},
	[TIME_FATES] = {"Prefetched pages by fate",
			UNIT_PAGES_PER_S,
			PANEL_STACK,
			5,
			{{"used in time", TONE_AHEAD, RATE_USED},
			 {"used late", TONE_LATE, RATE_LATE},
			 {"evicted unused", TONE_WASTE, RATE_WASTED},
			 {"resident unused", TONE_RESIDENT, RATE_RESIDENT},
			 {"untracked", TONE_OPEN, RATE_UNTRACKED}}},
	[TIME_EVICTIONS] = {"Evictions by cause",
			    UNIT_PAGES_PER_S,
			    PANEL_STACK,
			    5,
			    {{"kswapd", TONE_A, RATE_BY_KSWAPD},
			     {"a task's reclaim", TONE_B, RATE_BY_TASK},
			     {"memory limit", TONE_STALL, RATE_BY_LIMIT},
			     {"dropped", TONE_C, RATE_DROPPED},
			     {"other causes", TONE_OPEN, RATE_ELSE}}},
	[TIME_STALL] = {"Stall, mean number",
			UNIT_NUMBER,
			PANEL_BARS,
			1,
			{{"tasks that sleep", TONE_STALL, RATE_STALL}}},
};

static const double *rates_of(struct arena *a, const struct timeline *t, enum timeline_rate which)
{
	double *ret = arena_alloc(a, t->nr * sizeof(*ret));

	for (size_t i = 0; ret && i < t->nr; i++)
		ret[i] = timeline_rate(&t->buckets[i], which);
	return ret;
}

void pictures_time_panel(struct arena *a, const struct model_job *job, enum time_panel which,
			 struct picture_panel *ret)
{
	struct picture_series *series = arena_alloc(a, SERIES_MAX * sizeof(*series));

	*ret = (struct picture_panel){.name = time_panels[which].name,
				      .unit = time_panels[which].unit,
				      .kind = time_panels[which].kind,
				      .series = series};
	for (size_t i = 0; series && i < time_panels[which].nr; i++) {
		enum timeline_rate rate = time_panels[which].series[i].rate;

		series[i] = (struct picture_series){
			.name = time_panels[which].series[i].name,
			.tone = time_panels[which].series[i].tone,
			.mark = timeline_rate_mark(&job->counts, rate),
			.values = rates_of(a, &job->detail->timeline, rate),
		};
		ret->nr_series += series[i].values != NULL;
	}
}

void pictures_time_axis(struct arena *a, const struct timeline *t, struct picture_axis *ret)
{
	double *from = arena_alloc(a, t->nr * sizeof(*from));
	double *to = arena_alloc(a, t->nr * sizeof(*to));

	*ret = (struct picture_axis){.name = "time since the start",
				     .unit = UNIT_SECONDS,
				     .kind = AXIS_SPANS,
				     .from = from,
				     .to = to};
	if (!from || !to)
		return;
	for (size_t i = 0; i < t->nr; i++) {
		from[i] = timeline_from_s(&t->buckets[i]);
		to[i] = timeline_to_s(&t->buckets[i]);
	}
	ret->nr = t->nr;
}

bool pictures_windows(struct arena *a, const struct counts *c, struct bars *ret,
		      struct bars_shown *ret_shown)
{
	*ret_shown = (struct bars_shown){.says = "",
					 .axis = "pages added by a window",
					 .series = "windows",
					 .mark = sizes_windows_mark(c),
					 .unit = UNIT_COUNT,
					 .tone = TONE_AHEAD};
	ret->nr = WINDOW_SIZES;
	for (int i = 0; i < WINDOW_SIZES; i++)
		ret->names[i] = arena_text(a, sizes_window_name(i).text);
	return sizes_windows(c, ret->values);
}

void pictures_reads(struct arena *a, const struct model_detail *d, struct bars *ret,
		    struct bars_shown *ret_shown)
{
	char says[256];

	sizes_say_reads(&d->advice, says, sizeof(says));
	*ret_shown = (struct bars_shown){.says = arena_text(a, says),
					 .axis = "bytes requested per call",
					 .series = "calls",
					 .mark = sizes_calls_mark(&d->advice),
					 .unit = UNIT_COUNT,
					 .tone = TONE_HIT};
	ret->nr = READ_SIZES;
	for (int i = 0; i < READ_SIZES; i++)
		ret->names[i] = arena_text(a, sizes_read_name(i).text);
	sizes_reads(d, ret->values);
}

void pictures_waits(struct arena *a, const struct model_waits *w, const struct counts *c,
		    struct bars *ret, struct bars_shown *ret_shown)
{
	*ret_shown = (struct bars_shown){
		.says = "Each bar covers waits up to the length of the next bar.",
		.axis = "length of a wait",
		.series = "waits",
		.mark = counts_lower_bound(c, C_stalls) ? MARK_LEAST : NULL,
		.unit = UNIT_COUNT,
		.tone = TONE_STALL};
	ret->nr = WAIT_BUCKETS;
	for (int i = 0; i < WAIT_BUCKETS; i++) {
		ret->names[i] = arena_text(a, human_duration((uint64_t)counter_wait_ns(i)).text);
		ret->values[i] = (double)w->sleeps[i];
	}
}

struct picture pictures_bars(struct arena *a, const struct bars *b, size_t first, size_t nr,
			     const struct bars_shown *shown)
{
	struct bars *copy = arena_alloc(a, sizeof(*copy));
	struct picture_series *series = arena_alloc(a, sizeof(*series));
	struct picture_panel *panel = arena_alloc(a, sizeof(*panel));

	if (!copy || !series || !panel)
		return (struct picture){0};
	*copy = *b;
	*series = (struct picture_series){.name = shown->series,
					  .tone = shown->tone,
					  .mark = shown->mark,
					  .values = copy->values + first};
	*panel = (struct picture_panel){.name = shown->series,
					.unit = shown->unit,
					.kind = PANEL_BARS,
					.series = series,
					.nr_series = 1};
	return (struct picture){.id = shown->id,
				.title = shown->title,
				.says = shown->says,
				.axis = {.name = shown->axis,
					 .kind = AXIS_NAMES,
					 .names = copy->names + first,
					 .nr = nr},
				.panels = panel,
				.nr_panels = 1};
}
