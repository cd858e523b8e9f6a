/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws a frame as lines of cells of a given size. Owns the layout: positions, and what is left out
 * if there is no room. A pure function; others write the canvas.
 */
#ifndef TOP_PAINT_H
#define TOP_PAINT_H

#include "cachemon/top/canvas.h"
#include "cachemon/top/columns.h"
#include "cachemon/top/frame.h"

struct top_paper {
	int columns, rows;
	bool utf8;
	bool keys;	    /* the last line has keys, input, or the notice */
	bool ended;	    /* no new data will come */
	const char *notice; /* about the run or the view; NULL: none */
};

/* Minimum columns for files next to jobs or directories. */
enum { TOP_WIDE = 120 };

/* 0 or -ENOMEM. */
int top_paint(const struct top_frame *f, const struct top_view *v, const struct top_paper *paper,
	      struct top_canvas *ret);
/* The number of rows in the table, by which PgDn moves. */
int top_paint_page(const struct top_view *v, const struct top_paper *paper);
/* The last line of the help at which it may start; 0: all lines fit. In paint_detail.c. */
size_t top_help_end(int rows);

/* Internal to painting, in paint_detail.c. */

/* The number of lines that the detail needs at most. */
int top_detail_rows(int columns);
void top_paint_detail(struct top_canvas *c, const struct top_frame *f, int row, int nr_rows);
/* "MISSES/s", its last intervals, and their maximum, in one line. */
void top_paint_spark(struct top_canvas *c, const struct top_frame *f, enum top_column column,
		     const struct top_series *series, int row, int at, int width);
/* from: its first visible line, if it does not fit. */
void top_paint_help(struct top_canvas *c, size_t from);

#endif
