/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame: the rows of a moment that match the filter, sorted, and the selected one. A function of
 * moment and view; owns its rows and their names. Independent of size and terminal.
 */
#ifndef TOP_FRAME_H
#define TOP_FRAME_H

#include "cachemon/top/moment.h"
#include "cachemon/top/view.h"

struct top_frame_row {
	const struct top_row *row;
	char *name; /* inert: lead and name, fit for a terminal */
	struct opt_f64 key;
};

struct top_frame {
	const struct top_moment *moment;
	struct top_frame_row *rows;
	size_t nr_rows;
	size_t nr_filtered;	     /* rows that the filter hides */
	struct top_frame_row *files; /* the files waited for longest, next to them */
	size_t nr_files;
	struct top_frame_row *processes;
	size_t nr_processes;
	size_t cursor;			 /* 0 if absent */
	const struct top_series *job;	 /* series of the watched job; NULL: not loaded */
	const struct top_series *chosen; /* series of the chosen row; NULL: not loaded */
	struct arena arena;
};

/* 0 or -ENOMEM. The moment must outlive the frame. */
int top_frame_make(const struct top_moment *m, const struct top_view *v, struct top_frame *ret);
void top_frame_free(struct top_frame *f);
/* The id of the selected row, or TOP_NO_ROW. */
int64_t top_frame_cursor_id(const struct top_frame *f);

#endif
