/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame as lines of cells of a given size. Owns the layout: what is where, and what is left out
 * where there is no room. A pure function; the canvas is drawn or written by others.
 */
#ifndef TOP_PAINT_H
#define TOP_PAINT_H

#include "cachemon/top/canvas.h"
#include "cachemon/top/frame.h"

struct top_paper {
	int columns, rows;
	bool utf8;
	bool keys;	    /* the last line is for keys, what is typed, and the notice */
	bool ended;	    /* nothing new will come */
	const char *notice; /* about the run or the view; NULL: none */
};

/* 0 or -ENOMEM. */
int top_paint(const struct top_frame *f, const struct top_view *v, const struct top_paper *paper,
	      struct top_canvas *ret);
/* Rows that the table has room for: what PgDn moves by. */
int top_paint_page(const struct top_view *v, const struct top_paper *paper);
/* The last line of the help that may be the first one shown; 0: all have room. In paint_detail.c.
 */
size_t top_help_end(int rows);

#endif
