/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pictures of a job, in memory of an arena: a report shows one, a comparison two of a kind. Owns
 * what is drawn of a timeline and of sizes, and under which names, so that every page shows the
 * same. A failed allocation is the arena's.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include "cachemon/model/model_detail.h"
#include "cachemon/render/picture.h"

/* Panels over time. */
enum time_panel { TIME_LOOKUPS, TIME_FATES, TIME_EVICTIONS, TIME_STALL };

void pictures_time_panel(struct arena *a, const struct model_job *job, enum time_panel which,
			 struct picture_panel *ret);
/* Its nr is 0 without memory. */
void pictures_time_axis(struct arena *a, const struct timeline *t, struct picture_axis *ret);

/* Bars with names. */
enum { BARS_MAX = 48 };

struct bars {
	const char *names[BARS_MAX];
	double values[BARS_MAX];
	size_t nr;
};

/* What a picture of bars says. */
struct bars_shown {
	const char *id, *title, *says, *axis, *series, *mark;
	enum picture_unit unit;
	enum tone tone;
};

/* Sizes of readahead windows; false: they were not measured. The caller gives id and title. */
bool pictures_windows(struct arena *a, const struct counts *c, struct bars *ret,
		      struct bars_shown *ret_shown);
/* Sizes of the read calls of traced files, where those are known. */
void pictures_reads(struct arena *a, const struct model_detail *d, struct bars *ret,
		    struct bars_shown *ret_shown);
/* Lengths of waits; false: they were not measured. */
bool pictures_waits(struct arena *a, const struct model_job *job, struct bars *ret,
		    struct bars_shown *ret_shown);
/* Those from first on, so many; without a point: no memory. */
struct picture pictures_bars(struct arena *a, const struct bars *b, size_t first, size_t nr,
			     const struct bars_shown *shown);

/* Formatted, in the arena; NULL: no memory. */
const char *pictures_text(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
