/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of the table: what each is called, how wide it is, what it shows of a row and how
 * rows are ordered by it. Owns the one list of them, in the order of their importance.
 */
#ifndef TOP_COLUMNS_H
#define TOP_COLUMNS_H

#include "cachemon/figures/show.h"
#include "cachemon/top/moment.h"
#include "cachemon/top/view.h"

struct top_column_info {
	const char *option;  /* of --sort */
	const char *heading; /* NULL: the level has it */
	const char *help;
	int width;
	bool worst_is_least; /* the order begins with the least */
};

/* A figure to order by; absent rows come last. */
struct top_figure {
	struct opt_f64 value;
	struct shown shown;
};

const struct top_column_info *top_column_info(enum top_column c);
/* Of counters that were counted for so long; a row of another run has that of its own. TOP_NAME has
 * none. */
struct top_figure top_column_figure(enum top_column c, const struct top_row *row,
				    int64_t duration_ns, int64_t page_size_bytes);

#endif
