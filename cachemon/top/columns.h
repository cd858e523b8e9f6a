/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of the table: name, width, value of a row, and sort order. Owns the only list of
 * them, by importance.
 */
#ifndef TOP_COLUMNS_H
#define TOP_COLUMNS_H

#include "cachemon/figures/show.h"
#include "cachemon/top/moment.h"
#include "cachemon/top/view.h"

struct top_column_info {
	const char *option;  /* of --sort */
	const char *heading; /* NULL: shown on every level that has it */
	const char *help;
	int width;
	bool worst_is_least; /* ascending order */
};

/* A figure to sort by; absent rows come last. */
struct top_figure {
	struct opt_f64 value;
	struct shown shown;
};

const struct top_column_info *top_column_info(enum top_column c);
/* For counters over this time; a row of another run has its own time. TOP_NAME has none. */
struct top_figure top_column_figure(enum top_column c, const struct top_row *row,
				    int64_t duration_ns, int64_t page_size_bytes);

#endif
