/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_cache.h"

#include <ctype.h>

#include "cachemon/figures/show.h"
#include "cachemon/base/human.h"

void curve_marks(const struct job_curve *c, struct curve_mark ret[CURVE_MARKS])
{
	ret[0] = (struct curve_mark){'P', "present", "the job's pages in the cache, at most",
				     c->facts.counted.present_pages};
	ret[1] = (struct curve_mark){'L', "limit", "the limit of its memory cgroup",
				     c->facts.limit_pages};
	ret[2] = (struct curve_mark){'R', "memory", "the machine's memory", c->facts.memory_pages};
}

enum { PLACES = 96 };

/* The character drawn at each place. */
struct drawn {
	double bytes[PLACES];
	double hit[PLACES], low[PLACES], high[PLACES];
	double best[PLACES];
};

/* All of the data, and the present size with a margin; sizes far beyond are left out. */
double whatif_cache_range(const struct job_curve *c)
{
	double distinct = c->curve.estimate.distinct_pages;
	double max = distinct * 1.1;
	struct curve_mark marks[CURVE_MARKS];

	curve_marks(c, marks);
	for (int i = 0; i < CURVE_MARKS; i++)
		if (marks[i].pages > max && marks[i].pages < distinct * 1.5)
			max = marks[i].pages * 1.02;
	return max;
}

void curve_lines(const struct job_curve *c, const double *bytes, size_t nr,
		 const struct curve_lines *ret)
{
	for (size_t i = 0; i < nr; i++) {
		struct curve_point p;

		curve_at(&c->curve, bytes[i] / c->facts.page_size_bytes, &p);
		ret->hit[i] = 1 - p.miss;
		ret->low[i] = 1 - p.high;
		ret->high[i] = 1 - p.low;
		if (ret->best)
			ret->best[i] = 1 - p.opt;
	}
}

const char *curve_ratio_mark(const struct job_curve *c)
{
	return c->curve.estimate.rate < 1 ? MARK_ABOUT : NULL;
}

/* Marks within the axis. */
static size_t put_marks(const struct job_curve *c, char names[CURVE_MARKS][96],
			struct picture_mark ret[CURVE_MARKS])
{
	struct curve_mark marks[CURVE_MARKS];
	double max = whatif_cache_range(c);
	size_t nr = 0;

	curve_marks(c, marks);
	for (int i = 0; i < CURVE_MARKS; i++) {
		double bytes = marks[i].pages * c->facts.page_size_bytes;

		if (marks[i].pages < 0 || marks[i].pages > max)
			continue;
		snprintf(names[nr], sizeof(names[nr]), "%s, %s", marks[i].name,
			 human_bytes((uint64_t)bytes).text);
		ret[nr] = (struct picture_mark){bytes, names[nr]};
		nr++;
	}
	return nr;
}

void curve_say(const struct job_curve *c, char *says, size_t size)
{
	const char *mark = curve_ratio_mark(c) ?: "";
	struct curve_need need = {-1, -1, -1};

	if (!c->verdict.uncertain)
		curve_need(&c->curve, 0.9, &need);
	if (c->verdict.uncertain)
		snprintf(says, size, "uncertain. %s", c->verdict.reason);
	else if (need.pages < 0)
		snprintf(says, size,
			 "no cache size gives a hit ratio of 90 %%: %s%.1f %% of the lookups are "
			 "first touches.",
			 mark, 100 * c->curve.first_touch);
	else
		snprintf(says, size, "a hit ratio of 90 %% takes %s%s of cache.", mark,
			 human_bytes((uint64_t)(need.pages * c->facts.page_size_bytes)).text);
	human_group(says, size);
}

void whatif_cache_picture(struct doc *d, const struct job_curve *c)
{
	struct drawn w;
	const struct picture_series series[] = {
		{.name = "hit ratio, band",
		 .tone = TONE_HIT,
		 .mark = curve_ratio_mark(c),
		 .values = w.hit,
		 .low = w.low,
		 .high = w.high},
		{.name = "best possible",
		 .tone = TONE_BEST,
		 .mark = curve_ratio_mark(c),
		 .values = w.best},
	};
	const struct picture_panel panel = {.name = "Hit ratio",
					    .unit = UNIT_SHARE,
					    .kind = PANEL_LINES,
					    .series = series,
					    .nr_series = 2,
					    .top = 1};
	struct picture_mark marks[CURVE_MARKS];
	char names[CURVE_MARKS][96];
	char says[512];
	double max = whatif_cache_range(c) * c->facts.page_size_bytes;
	struct picture p = {.id = "curve",
			    .title = "Hit ratio by cache size",
			    .says = says,
			    .axis = {.name = "cache",
				     .unit = UNIT_BYTES,
				     .kind = AXIS_PLACES,
				     .from = w.bytes,
				     .nr = PLACES},
			    .panels = &panel,
			    .nr_panels = 1,
			    .marks = marks};

	for (int i = 0; i < PLACES; i++)
		w.bytes[i] = max * i / (PLACES - 1);
	curve_lines(c, w.bytes, PLACES, &(struct curve_lines){w.hit, w.low, w.high, w.best});
	curve_say(c, says, sizeof(says));
	says[0] = (char)toupper((unsigned char)says[0]);
	p.nr_marks = put_marks(c, names, marks);
	doc_put_picture(d, &p);
}
