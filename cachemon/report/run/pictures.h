/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pictures of a job, in an arena: a report shows one of a kind, a comparison two. Owns how a
 * timeline and sizes are drawn, and the names, so that every page shows the same. The arena notes a
 * failed allocation.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include "cachemon/model/model_detail.h"
#include "cachemon/render/picture.h"

/* Panels over time. */
enum time_panel { TIME_LOOKUPS, TIME_FATES, TIME_EVICTIONS, TIME_STALL };

void pictures_time_panel(struct arena *a, const struct model_job *job, enum time_panel which,
			 struct picture_panel *ret);
/* nr is 0 if out of memory. */
void pictures_time_axis(struct arena *a, const struct timeline *t, struct picture_axis *ret);

/* Bars with names. */
enum { BARS_MAX = 48 };

struct bars {
	const char *names[BARS_MAX];
	double values[BARS_MAX];
	size_t nr;
};

/* The description of a picture of bars. */
struct bars_shown {
	const char *id, *title, *says, *axis, *series, *mark;
	enum picture_unit unit;
	enum tone tone;
};

/* Sizes of readahead windows; false: not measured. The caller sets id and title. */
bool pictures_windows(struct arena *a, const struct counts *c, struct bars *ret,
		      struct bars_shown *ret_shown);
/* Sizes of the read calls of traced files, if known. */
void pictures_reads(struct arena *a, const struct model_detail *d, struct bars *ret,
		    struct bars_shown *ret_shown);
/* Lengths of waits, which are known; c: the counts that they belong to. */
void pictures_waits(struct arena *a, const struct model_waits *w, const struct counts *c,
		    struct bars *ret, struct bars_shown *ret_shown);
/* That many bars from first; no points: out of memory. */
struct picture pictures_bars(struct arena *a, const struct bars *b, size_t first, size_t nr,
			     const struct bars_shown *shown);

#endif
