/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_readahead_show.h"

#include <math.h>
#include <stdio.h>

/* What is drawn of the settings that are known. */
struct drawn {
	char text[WHATIF_CANDIDATES][40];
	const char *names[WHATIF_CANDIDATES];
	double misses[WHATIF_CANDIDATES], ahead[WHATIF_CANDIDATES];
	double used[WHATIF_CANDIDATES], wasted[WHATIF_CANDIDATES];
	double waits[WHATIF_CANDIDATES];
	size_t nr;
	const char *mark[WHATIF_FIGURES]; /* of all settings */
};

static void fill(struct drawn *p, const struct whatif_readahead *w, bool mapped)
{
	for (size_t i = 0; i < WHATIF_CANDIDATES; i++) {
		struct whatif_sum s;
		size_t at = p->nr;

		whatif_readahead_sum(w, mapped, i, &s);
		if (!s.known)
			continue;
		if (i == WHATIF_ACTUAL)
			snprintf(p->text[at], sizeof(p->text[at]), "as it was");
		else
			whatif_setting_name(i, 0, p->text[at], sizeof(p->text[at]));
		p->names[at] = p->text[at];
		p->misses[at] = s.figure[WHATIF_MISSES];
		p->ahead[at] = s.figure[WHATIF_PREFETCHED];
		p->used[at] = s.figure[WHATIF_PREFETCHED] - s.figure[WHATIF_WASTED];
		p->wasted[at] = s.figure[WHATIF_WASTED];
		p->waits[at] = s.figure[WHATIF_STALLS];
		for (int k = 0; k < WHATIF_FIGURES; k++)
			if (s.error[k] > 0.5 || s.error[k] < 0)
				p->mark[k] = MARK_ABOUT;
		p->nr++;
	}
}

static void say(const struct whatif_readahead *w, bool mapped, char *says, size_t size)
{
	int best = whatif_readahead_best(w, mapped);
	char name[40] = "what was in force";

	if (best > WHATIF_ACTUAL)
		whatif_setting_name((size_t)best, 0, name, sizeof(name));
	snprintf(says, size,
		 "What each setting would have brought for the files that were traced, scaled to "
		 "all; best: %s.",
		 best < 0 ? "not known" : name);
}

#define SERIES(n, t, v, m)                                                                         \
	{                                                                                          \
		.name = (n), .tone = (t), .mark = (m), .values = (v)                               \
	}

static void put(struct doc *d, const struct whatif_readahead *w, bool mapped, const struct drawn *p)
{
	const char *const *mark = p->mark;
	const struct picture_series pages[] = {
		SERIES("misses", TONE_MISS, p->misses, mark[WHATIF_MISSES]),
		SERIES("used ahead", TONE_AHEAD, p->used,
		       mark[WHATIF_PREFETCHED] ?: mark[WHATIF_WASTED]),
		SERIES("wasted", TONE_WASTE, p->wasted, mark[WHATIF_WASTED]),
	};
	/* Which pages of a mapping are used is not seen. */
	const struct picture_series mapped_pages[] = {
		SERIES("misses", TONE_MISS, p->misses, mark[WHATIF_MISSES]),
		SERIES("ahead", TONE_OPEN, p->ahead, mark[WHATIF_PREFETCHED]),
	};
	const struct picture_series waits[] = {
		SERIES("waits", TONE_STALL, p->waits, mark[WHATIF_STALLS])};
	const struct picture_panel panels[] = {
		{.name = "Pages",
		 .unit = UNIT_PAGES,
		 .kind = PANEL_STACK,
		 .series = mapped ? mapped_pages : pages,
		 .nr_series = mapped ? 2 : 3},
		{.name = "Waits",
		 .unit = UNIT_COUNT,
		 .kind = PANEL_BARS,
		 .series = waits,
		 .nr_series = 1},
	};
	char says[256];
	struct picture picture = {
		.id = mapped ? "settings-mapped" : "settings",
		.title = mapped ? "Mapped files by setting" : "Read calls by setting",
		.says = says,
		.axis = {.name = "setting", .kind = AXIS_NAMES, .names = p->names},
		.panels = panels,
		.nr_panels = 2};

	say(w, mapped, says, sizeof(says));
	picture.axis.nr = p->nr;
	doc_put_picture(d, &picture);
}

void whatif_readahead_picture(struct doc *d, const struct whatif_readahead *w)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		struct drawn p = {.nr = 0};

		fill(&p, w, mapped);
		put(d, w, mapped, &p);
	}
}
