/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/top/paint_impl.h"

/* In 40 columns all of it can be read. */
static const struct line {
	const char *keys, *what;
} lines[] = {
	{"q, any key", "quit; leave the help"},
	{"up down", "a row (PgUp PgDn too)"},
	{"Tab 0 1 2 3", "runs jobs directories files"},
	{"Enter z Esc", "detail; into the row; back"},
	{"s  < >  r", "order; the other way"},
	{"/", "rows with this name"},
	{"left right", "an interval; [ ]: ten"},
	{"g", "to 90 2m 1:05:00 -2m @14:05"},
	{"p, space", "hold; go on"},
	{"l, m", "newest moment; most misses"},
	{"{ }", "the run before, after"},
	{"2, 3 show", "256 files with most misses"},
};

enum {
	NR_KEYS = sizeof(lines) / sizeof(lines[0]),
	NR_LINES = NR_KEYS + TOP_NR_COLUMNS, /* a line for the marks, none for the name */
	KEYS = 18,
	KEYS_NARROW = 13,
	NARROW = 50,
};

size_t top_help_end(int rows)
{
	return rows >= NR_LINES || rows < 2 ? 0 : (size_t)(NR_LINES - rows + 1);
}

static void put_line(struct top_canvas *c, int row, int i)
{
	struct line line;
	int keys = c->columns < NARROW ? KEYS_NARROW : KEYS;

	if (i == NR_LINES - 1) {
		top_put(c, row, 0, c->columns, TOP_FAINT, "- not measured, ~ estimate, >= or more");
		return;
	}
	if (i < NR_KEYS) {
		line = lines[i];
	} else {
		const struct top_column_info *info = top_column_info(TOP_HITS + i - NR_KEYS);

		line = (struct line){info->heading, info->help};
	}
	top_put(c, row, 0, c->columns, TOP_STRONG, line.keys);
	top_put(c, row, keys, c->columns - keys, TOP_PLAIN, line.what);
}

void top_paint_help(struct top_canvas *c, size_t from)
{
	/* Where there is little room nothing is between its parts. */
	int gap = c->rows > NR_LINES + 1;
	size_t end = top_help_end(c->rows);
	int first = (int)(from < end ? from : end);
	int room = end ? c->rows - 1 : c->rows;
	int row = 0;

	for (int i = first; i < NR_LINES && row < room; i++, row++) {
		row += gap * (i == NR_KEYS || i == NR_LINES - 1);
		put_line(c, row, i);
	}
	if (end)
		top_put(c, c->rows - 1, 0, c->columns, TOP_FAINT, "up, down: more of this help");
}
