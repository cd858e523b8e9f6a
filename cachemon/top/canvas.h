/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A screen in memory: lines of cells, each with a character and a look. Owns how text fits into
 * cells: width of characters, truncation, invisible characters. Independent of the terminal.
 */
#ifndef TOP_CANVAS_H
#define TOP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <wchar.h>

enum top_look {
	TOP_PLAIN,
	TOP_FAINT,
	TOP_STRONG,
	TOP_HEADING,
	TOP_CHOSEN,
	TOP_GOOD,
	TOP_POOR,
	TOP_BAD,
	TOP_NR_LOOKS
};

struct top_cell {
	wchar_t ch[3]; /* a character with its combining ones; ch[0] 0: the right half of the
			* previous one */
	unsigned char look;
};

struct top_canvas {
	int columns, rows;
	bool utf8; /* else other characters are written as \uXXXX */
	struct top_cell *cells;
};

/* Blank. 0 or -ENOMEM. UTF-8 needs a UTF-8 locale, for the width of characters. */
int top_canvas_new(int columns, int rows, bool utf8, struct top_canvas *ret);
void top_canvas_free(struct top_canvas *c);

/* Columns that the text takes. */
int top_text_width(const struct top_canvas *c, const char *text);
/* The text, cut at its end if it is wider; returns the columns it took. Nothing is drawn outside
 * the canvas. */
int top_put(struct top_canvas *c, int row, int column, int width, enum top_look look,
	    const char *text);
/* At the right end of the width. */
int top_put_right(struct top_canvas *c, int row, int column, int width, enum top_look look,
		  const char *text);
/* Cut at its beginning, after "...", if it is wider. */
int top_put_tail(struct top_canvas *c, int row, int column, int width, enum top_look look,
		 const char *text);
/* The look of cells of a line. */
void top_look_cells(struct top_canvas *c, int row, int column, int width, enum top_look look);

/* As text: lines without the blanks at their ends. */
void top_canvas_write(const struct top_canvas *c, FILE *out);

#endif
