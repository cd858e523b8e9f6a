/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of painting, shared by paint.c (head, table, last line) and paint_detail.c (detail, help).
 */
#ifndef TOP_PAINT_IMPL_H
#define TOP_PAINT_IMPL_H

#include "cachemon/top/columns.h"
#include "cachemon/top/paint.h"

/* Lines that the detail would like, and draws at most. */
int top_detail_rows(int columns);
void top_paint_detail(struct top_canvas *c, const struct top_frame *f, int row, int nr_rows);
/* "MISSES/s", the last intervals of it, and the most of them, in one line. */
void top_paint_spark(struct top_canvas *c, const struct top_frame *f, enum top_column column,
		     const struct top_series *series, int row, int at, int width);
/* from: its first line that is shown, where there is not room for all. */
void top_paint_help(struct top_canvas *c, size_t from);

#endif
