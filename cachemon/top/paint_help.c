/* SPDX-License-Identifier: BSD-2-Clause */
#include "top/paint_impl.h"

static const struct {
	const char *keys, *what;
} lines[] = {
	{"q, any key", "quit; leave the help"},
	{"up down", "choose a row (PgUp PgDn Home End)"},
	{"Tab  0 1 2 3", "all runs, jobs, directories, files"},
	{"Enter, z", "detail of the row; what is in it"},
	{"s  < >  r", "order; the other way"},
	{"Backspace, Esc", "back from where z went"},
	{"/", "rows with this name (Esc: all)"},
	{"left right", "an interval back, on ([ ]: ten)"},
	{"g", "to a time: 90 2m 1:05:00 +30 -2m @14:05"},
	{"p, space", "hold; go on"},
	{"l, m", "the newest moment; that with most misses"},
	{"{ }", "the run before, after"},
	{"2, 3 show", "an interval's 256 files with most misses"},
};

enum { NR_LINES = sizeof(lines) / sizeof(lines[0]), KEYS = 18, KEYS_NARROW = 11, NARROW = 50 };

void top_paint_help(struct top_canvas *c)
{
	/* Where there is little room nothing is between its parts. */
	int gap = c->rows > NR_LINES + TOP_NR_COLUMNS + 2;
	int keys = c->columns < NARROW ? KEYS_NARROW : KEYS;
	int row = 0;

	for (int i = 0; i < NR_LINES && row < c->rows; i++, row++) {
		int wide = top_put(c, row, 0, c->columns, TOP_STRONG, lines[i].keys);

		wide = wide < keys ? keys : wide + 1;
		top_put(c, row, wide, c->columns - wide, TOP_PLAIN, lines[i].what);
	}
	row += gap;
	for (int i = TOP_HITS; i < TOP_NR_COLUMNS && row < c->rows; i++, row++) {
		const struct top_column_info *info = top_column_info(i);

		top_put(c, row, 0, c->columns, TOP_STRONG, info->heading);
		top_put(c, row, KEYS, c->columns - KEYS, TOP_PLAIN, info->help);
	}
	row += gap;
	top_put(c, row, 0, c->columns, TOP_FAINT,
		"-: not measured; ~: an estimate; >=: may have been more");
}
