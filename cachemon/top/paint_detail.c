/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cachemon/base/human.h"
#include "cachemon/top/paint.h"

enum {
	BUCKETS = C_window_log2_15 - C_window_log2_0 + 1,
	LEVELS = 8,
	SIDE_BY_SIDE = 130, /* minimum columns for sparklines and histogram */
	BARS = 3,	    /* lines of the histogram's bars */
	LABEL = 13,
	MOST = 13,
};

static const enum top_column sparks[] = {TOP_HITS,	 TOP_MISSES,  TOP_LOOKUPS,
					 TOP_PREFETCHED, TOP_EVICTED, TOP_WAITED};
enum { NR_SPARKS = sizeof(sparks) / sizeof(sparks[0]) };

/* 0: nothing, LEVELS: the maximum. */
static const char *bar_of(const struct top_canvas *c, int level)
{
	static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const ascii[] = {" ", "_", ".", ":", "=", "+", "*", "%", "#"};

	return c->utf8 ? blocks[level] : ascii[level];
}

/* Zero is the lowest line; any larger value is visibly higher. */
static int level_of(double value, double most)
{
	int level;

	if (value <= 0 || most <= 0)
		return 1;
	level = 2 + (int)(value / most * (LEVELS - 2) + 0.5);
	return level > LEVELS ? LEVELS : level;
}

static struct top_figure figure_at(const struct top_frame *f, enum top_column column,
				   const struct top_series *series, size_t i)
{
	struct top_row row = {.counts = series->counts[i]};

	if (!series->known[i])
		return (struct top_figure){.shown = {"-"}};
	return top_column_figure(column, &row, f->moment->history[i].duration_ns,
				 f->moment->model.run.page_size_bytes.value);
}

void top_paint_spark(struct top_canvas *c, const struct top_frame *f, enum top_column column,
		     const struct top_series *series, int row, int at, int width)
{
	int room = width - LABEL - MOST - 1;
	size_t nr = f->moment->nr_history;
	/* For a share the minimum matters, and its scale is always 0 to 1. */
	bool share = column == TOP_HITS;
	struct top_figure most = {.shown = {"-"}};
	char text[64];

	if (room < 1)
		return;
	if (nr > (size_t)room)
		nr = (size_t)room;
	for (size_t i = 0; i < nr; i++) {
		struct top_figure figure = figure_at(f, column, series, i);

		if (figure.value.known &&
		    (!most.value.known || (figure.value.value < most.value.value) == share))
			most = figure;
	}
	top_put(c, row, at, LABEL - 1, TOP_FAINT, top_column_info(column)->heading);
	for (size_t i = 0; i < nr; i++) {
		struct top_figure figure = figure_at(f, column, series, i);
		double scale = share ? 1 : most.value.value;

		top_put(c, row, at + LABEL + room - 1 - (int)i, 1, TOP_PLAIN,
			figure.value.known ? bar_of(c, level_of(figure.value.value, scale)) : "-");
	}
	snprintf(text, sizeof(text), "%s %s", share ? "min" : "max", most.shown.s);
	top_put_right(c, row, at + width - MOST, MOST, TOP_FAINT, text);
}

static double bucket_of(const struct counts *c, int i, bool *known)
{
	struct opt_i64 v = counts_get(c, C_window_log2_0 + i);

	*known = v.known;
	return v.known ? (double)v.value : 0;
}

/* The sizes at which windows begin, if there is room for the words. */
static void put_sizes(struct top_canvas *c, int row, int at, int each)
{
	int end = at - 1;

	for (int i = 0; i < BUCKETS; i++) {
		char text[16];
		int wide = snprintf(text, sizeof(text), i < 10 ? "%d" : "%dk",
				    i < 10 ? 1 << i : 1 << (i - 10));

		if (at + i * each <= end)
			continue;
		top_put(c, row, at + i * each, wide, TOP_FAINT, text);
		end = at + i * each + wide;
	}
}

static void put_bars(struct top_canvas *c, const struct counts *counts, int row, int nr_rows,
		     int at, int each)
{
	double most = 0;
	bool known;

	for (int i = 0; i < BUCKETS; i++)
		if (bucket_of(counts, i, &known) > most)
			most = bucket_of(counts, i, &known);
	for (int i = 0; i < BUCKETS; i++) {
		double value = bucket_of(counts, i, &known);
		/* In eighths of a line, at least one if the value is not 0. */
		int height = most > 0 ? (int)(value / most * nr_rows * LEVELS + 0.5) : 0;

		if (value > 0 && !height)
			height = 1;
		for (int k = 0; k < nr_rows; k++) {
			int line = height - k * LEVELS;
			int level = line > LEVELS ? LEVELS : line < 0 ? 0 : line;

			for (int x = 0; x < (each > 1 ? each - 1 : 1); x++)
				top_put(c, row + nr_rows - 1 - k, at + i * each + x, 1, TOP_PLAIN,
					known	 ? bar_of(c, level)
					: k || x ? " "
						 : "-");
		}
	}
}

static void put_windows(struct top_canvas *c, const struct top_frame *f, int row, int nr_rows,
			int at, int width)
{
	const struct counts *counts = &f->rows[f->cursor].row->counts;
	int each = width / BUCKETS > 6 ? 6 : width / BUCKETS;
	char text[96];
	struct derived d;

	if (nr_rows < 3 || each < 1)
		return;
	counts_derive(counts, 0, &d);
	snprintf(text, sizeof(text), "Windows by pages, %s: %s",
		 f->rows[f->cursor].row->run_id ? "whole run" : "this moment",
		 d.windows.known ? human_count((uint64_t)d.windows.value).text : "-");
	top_put(c, row, at, width, TOP_FAINT, text);
	put_bars(c, counts, row + 1, nr_rows - 2 > BARS + 2 ? BARS + 2 : nr_rows - 2, at, each);
	put_sizes(c, row + 1 + (nr_rows - 2 > BARS + 2 ? BARS + 2 : nr_rows - 2), at, each);
}

int top_detail_rows(int columns)
{
	return columns >= SIDE_BY_SIDE ? 1 + NR_SPARKS + 1 : 1 + NR_SPARKS + 2 + BARS;
}

void top_paint_detail(struct top_canvas *c, const struct top_frame *f, int row, int nr_rows)
{
	bool side = c->columns >= SIDE_BY_SIDE;
	int width = side ? c->columns / 2 : c->columns;
	int left = nr_rows - 1;
	int shown = !f->chosen ? 0 : left < NR_SPARKS ? left : NR_SPARKS;

	if (nr_rows < 1 || !f->nr_rows)
		return;
	top_put_tail(c, row, 0, c->columns, TOP_STRONG, f->rows[f->cursor].name);
	top_look_cells(c, row, 0, c->columns, TOP_HEADING);
	for (int i = 0; i < shown; i++)
		top_paint_spark(c, f, sparks[i], f->chosen, row + 1 + i, 0,
				side ? width - 2 : width);
	if (side)
		put_windows(c, f, row + 1, left, width, c->columns - width);
	else
		put_windows(c, f, row + 1 + shown, left - shown, 0, width);
}

/* Each line fits into 40 columns. */
static const struct help_line {
	const char *keys, *what;
} help_lines[] = {
	{"q, any key", "quit; close the help"},	      {"up down", "a row (PgUp PgDn too)"},
	{"Tab 0 to 4", "runs jobs dirs files procs"}, {"Enter z Esc", "detail; into the row; back"},
	{"s  < >  r", "order; reverse it"},	      {"/", "only rows with this name"},
	{"left right", "an interval; [ ]: ten"},      {"g", "to 90 2m 1:05:00 -2m @14:05"},
	{"p  l  m", "hold, go on; newest; worst"},    {"{ }", "previous, next run"},
};

enum {
	NR_KEYS = sizeof(help_lines) / sizeof(help_lines[0]),
	NR_LINES = NR_KEYS + TOP_NR_COLUMNS, /* a line for the marks, none for the name */
	KEYS_WIDTH = 18,
	KEYS_WIDTH_NARROW = 13,
	NARROW = 50,
};

size_t top_help_end(int rows)
{
	return rows >= NR_LINES || rows < 2 ? 0 : (size_t)(NR_LINES - rows + 1);
}

static void put_help_line(struct top_canvas *c, int row, int i)
{
	struct help_line help_line;
	int keys = c->columns < NARROW ? KEYS_WIDTH_NARROW : KEYS_WIDTH;

	if (i == NR_LINES - 1) {
		top_put(c, row, 0, c->columns, TOP_FAINT, "- not measured, ~ estimate, >= or more");
		return;
	}
	if (i < NR_KEYS) {
		help_line = help_lines[i];
	} else {
		const struct top_column_info *info = top_column_info(TOP_HITS + i - NR_KEYS);

		help_line = (struct help_line){info->heading, info->help};
	}
	top_put(c, row, 0, c->columns, TOP_STRONG, help_line.keys);
	top_put(c, row, keys, c->columns - keys, TOP_PLAIN, help_line.what);
}

void top_paint_help(struct top_canvas *c, size_t from)
{
	/* With little room there are no gaps between its parts. */
	int gap = c->rows > NR_LINES + 1;
	size_t end = top_help_end(c->rows);
	int first = (int)(from < end ? from : end);
	int room = end ? c->rows - 1 : c->rows;
	int row = 0;

	for (int i = first; i < NR_LINES && row < room; i++, row++) {
		row += gap * (i == NR_KEYS || i == NR_LINES - 1);
		put_help_line(c, row, i);
	}
	if (end)
		top_put(c, c->rows - 1, 0, c->columns, TOP_FAINT, "up, down: scroll this help");
}
