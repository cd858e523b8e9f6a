/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/top/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/top/columns.h"

static char *name_of(struct arena *a, const struct top_row *row)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (!out)
		return NULL;
	fputs(row->lead, out);
	if (row->name.data)
		escape_inert(out, row->name.data, row->name.len);
	return (char *)text_end_in(&b, a);
}

/* Descending, absent ones last. */
static int by_lookups(const struct top_row *x, const struct top_row *y)
{
	struct opt_i64 a = counts_get(&x->counts, C_lookups);
	struct opt_i64 b = counts_get(&y->counts, C_lookups);

	if (a.known != b.known)
		return a.known ? -1 : 1;
	return a.known ? (b.value > a.value) - (b.value < a.value) : 0;
}

static int by_order(const void *a, const void *b, void *arg)
{
	const struct top_frame_row *x = a;
	const struct top_frame_row *y = b;
	const struct top_view *v = arg;
	enum top_column sort = top_view_order(v);
	int way = top_column_info(sort)->worst_is_least == v->reversed ? -1 : 1;
	int order = 0;

	if (x->row->first != y->row->first)
		return x->row->first ? -1 : 1;
	if (x->row->last != y->row->last)
		return x->row->last ? 1 : -1;
	if (sort == TOP_NAME)
		order = strcmp(x->name, y->name);
	else if (x->key.known != y->key.known)
		return x->key.known ? -1 : 1;
	else if (x->key.known)
		order = (x->key.value > y->key.value) - (x->key.value < y->key.value);
	if (order)
		return order * way;
	/* As in a report. */
	order = by_lookups(x->row, y->row);
	if (order)
		return order;
	return (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

/* By id if it is pinned and still exists; else by place. */
static size_t place_cursor(const struct top_frame *f, const struct top_view *v)
{
	for (size_t i = 0; v->pinned != TOP_NO_ROW && i < f->nr_rows; i++)
		if (f->rows[i].row->id == v->pinned)
			return i;
	if (!f->nr_rows)
		return 0;
	return v->cursor < f->nr_rows ? v->cursor : f->nr_rows - 1;
}

/* The rows with the filter in their name, in the view's order. 0 or -ENOMEM. */
static int make_rows(struct top_frame *f, const struct top_row *rows, size_t nr,
		     const struct top_view *v, struct top_frame_row **ret_rows, size_t *ret_nr)
{
	int64_t page_size = f->moment->model.run.page_size_bytes.value;
	struct top_frame_row *made = arena_alloc(&f->arena, (nr + 1) * sizeof(*made));
	size_t kept = 0;

	for (size_t i = 0; made && i < nr; i++) {
		struct top_frame_row *row = &made[kept];

		row->row = &rows[i];
		row->name = name_of(&f->arena, row->row);
		if (!row->name)
			return -ENOMEM;
		row->key = top_column_figure(top_view_order(v), row->row, f->moment->duration_ns,
					     page_size)
				   .value;
		kept += !*v->filter || strcasestr(row->name, v->filter);
	}
	if (!made || f->arena.failed)
		return -ENOMEM;
	qsort_r(made, kept, sizeof(*made), by_order, (void *)v);
	*ret_rows = made;
	*ret_nr = kept;
	return 0;
}

int top_frame_make(const struct top_moment *m, const struct top_view *v, struct top_frame *ret)
{
	struct top_view by_waiting = *v;
	struct top_frame f = {.moment = m};

	by_waiting.sort = TOP_WAITED;
	by_waiting.reversed = false;
	if (make_rows(&f, m->rows, m->nr_rows, v, &f.rows, &f.nr_rows) ||
	    (m->files &&
	     make_rows(&f, m->files, m->nr_files, &by_waiting, &f.files, &f.nr_files)) ||
	    (m->processes && make_rows(&f, m->processes, m->nr_processes, &by_waiting, &f.processes,
				       &f.nr_processes))) {
		arena_free(&f.arena);
		return -ENOMEM;
	}
	f.nr_filtered = m->nr_rows - f.nr_rows;
	f.cursor = place_cursor(&f, v);
	*ret = f;
	return 0;
}

void top_frame_free(struct top_frame *f)
{
	arena_free(&f->arena);
	*f = (struct top_frame){0};
}

int64_t top_frame_cursor_id(const struct top_frame *f)
{
	return f->nr_rows ? f->rows[f->cursor].row->id : TOP_NO_ROW;
}
