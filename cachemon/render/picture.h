/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture as numbers: points along an axis, panels of series over them, marks on the axis. Owns
 * the types and what all renderers need; draws nothing. An unknown value is NAN and stays visible
 * as a gap, never as zero.
 */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cachemon/figures/show.h"

/* The meaning of a series: equal meanings have equal colours in every picture. */
enum tone {
	TONE_HIT,
	TONE_MISS,
	TONE_AHEAD, /* prefetched, and used in time */
	TONE_LATE,
	TONE_WASTE,
	TONE_RESIDENT, /* still in the cache and not used: undecided */
	TONE_OPEN,     /* fate unknown */
	TONE_STALL,
	TONE_BEST, /* the best possible */
	TONE_A,	   /* kinds without a meaning of their own, distinguished by order */
	TONE_B,
	TONE_C,
	TONE_D,
	TONE_NR,
};

enum panel_kind {
	PANEL_STACK, /* stacked series, from the bottom up */
	PANEL_BARS,  /* one series */
	PANEL_LINES,
	PANEL_LANES, /* one lane per series, marked where it is above 0 */
};

enum picture_unit {
	UNIT_COUNT, /* whole numbers */
	UNIT_NUMBER,
	UNIT_PAGES,
	UNIT_PAGES_PER_S,
	UNIT_SHARE, /* 0..1 */
	UNIT_SECONDS,
	UNIT_BYTES,
};

struct picture_series {
	const char *name;
	enum tone tone;
	const char *mark;	  /* qualifier of all its values: MARK_ABOUT, ...; NULL: exact */
	const double *values;	  /* one per point */
	const double *low, *high; /* band of a line; NULL: none */
	bool steps;		  /* a line holds its value up to the next point */
	double top; /* top of its line of characters, if shared; 0: its highest value */
};

struct picture_panel {
	const char *name;
	enum picture_unit unit; /* unit of all its series */
	enum panel_kind kind;
	const struct picture_series *series;
	size_t nr_series;
	double top; /* top of the scale if fixed: 1 for a ratio; 0: the highest value */
};

struct picture_mark {
	double at;	  /* place on the axis */
	const char *name; /* "present 1.2 GiB" */
};

enum axis_kind {
	AXIS_SPANS,  /* point i reaches from[i] to to[i] */
	AXIS_PLACES, /* point i is at from[i]; to is NULL */
	AXIS_NAMES,  /* points of equal width, distinguished by names */
};

struct picture_axis {
	const char *name; /* "time", "size of the cache" */
	enum picture_unit unit;
	enum axis_kind kind;
	const double *from, *to;
	const char *const *names;
	size_t nr;
	double least,
		most; /* its ends, if other pictures share them; both 0: those of the points */
};

struct picture {
	const char *id;	   /* id of the element on a page: letters and '-' */
	const char *title; /* what it shows */
	const char *says;  /* its content in a sentence or two: the text alternative */
	struct picture_axis axis;
	const struct picture_panel *panels;
	size_t nr_panels;
	const struct picture_mark *marks;
	size_t nr_marks;
};

/* The ends of the axis. */
double picture_begin(const struct picture *p);
double picture_end(const struct picture *p);
/* The middle of point i. */
double picture_middle(const struct picture *p, size_t i);

/* The top of a panel's scale: the given one, else the highest stack or value. 0: nothing is
 * above 0; NAN: nothing is known. */
double picture_top(const struct picture_panel *panel, size_t nr);
/* The top of the scale of a single series. */
double picture_series_top(const struct picture_series *s, size_t nr);

/* A value for people, "-" if unknown: "1,234 pages/s", "93.1 %". */
struct shown picture_value(enum picture_unit unit, double value);

/* A round value, without trailing zeros: "40 %", "2.5 MiB", "2h". */
struct shown picture_round(enum picture_unit unit, double value);

/* A value of a series, with its mark. */
struct shown picture_shown(const struct picture_panel *panel, const struct picture_series *s,
			   double value);

/* A place of the axis, 0 the beginning, 1 the end, for people. */
struct shown picture_place(const struct picture *p, double share);

/* At most room characters for equal lengths of the axis, with the highest value in each: '_'
 * none, '?' unknown, '.' where the axis extends beyond the points. */
void picture_sparkline(FILE *out, const struct picture *p, const struct picture_series *s,
		       size_t room);

/* Round numbers from 0 to at most top, the first is ret_step: for a scale. Returns the number
 * above 0: at least 1 if top is above 0, at most max. */
size_t picture_ticks(double top, size_t max, double *ret_step);
/* The same, but round in the unit: bytes in KiB, MiB, ..., time in minutes, hours, days. */
size_t picture_ticks_in(enum picture_unit unit, double top, size_t max, double *ret_step);

struct tree;
/* {"title", "says", "axis": {...}, "panels": [...], "marks": [...]}; null without a point. */
void picture_data(struct tree *t, const char *key, const struct picture *p);

#endif
