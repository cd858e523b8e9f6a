/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A document for people, told once and written as plain text, Markdown or HTML: headings,
 * paragraphs, tables, a timeline. All text given here may hold foreign names: it is made inert.
 */
#ifndef REPORT_DOC_H
#define REPORT_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/arena.h"

enum doc_align {
	DOC_LEFT,
	DOC_RIGHT,
	DOC_WRAP,     /* text that may take several lines; last column only */
	DOC_BAR,      /* a share, "0.25", drawn as a bar */
	DOC_OWN_LINE, /* plain text: a line of its own above the row's figures; first column only */
};

struct doc_column {
	const char *name;
	enum doc_align align;
};

struct doc_table {
	const char *caption;
	const struct doc_column *columns;
	size_t nr_columns;
	char **cells; /* row by row */
	size_t nr_cells;
	bool failed;
};

/* A row of the timeline: a figure per point, in pages a second; < 0: not known. */
struct doc_series {
	const char *name;
	const double *values;
};

struct doc_timeline {
	const double *starts_s;
	const double *ends_s;
	size_t nr_points;
	const struct doc_series *series;
	size_t nr_series;
};

struct doc_ops;

struct doc {
	const struct doc_ops *ops;
	FILE *out;
	void *state; /* of the renderer */
	bool failed;
};

struct doc doc_text(FILE *out);
struct doc doc_markdown(FILE *out);
struct doc doc_html(FILE *out);

void doc_begin(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_heading(struct doc *d, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void doc_para(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Lines of a program or a shell, as they are. */
void doc_code(struct doc *d, const char *language, const char *text);
struct doc_table doc_table(const char *caption, const struct doc_column *columns,
			   size_t nr_columns);
void doc_cell(struct doc_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A name as the database has it; absent when it has none. */
void doc_cell_name(struct doc_table *t, const struct bytes *name, const char *absent);
/* Writes the table, unless it has no rows, and frees it. */
void doc_put_table(struct doc *d, struct doc_table *t);
void doc_table_free(struct doc_table *t);
void doc_put_timeline(struct doc *d, const struct doc_timeline *t);
/* 0 or -errno; always to be called. */
int doc_end(struct doc *d);

#endif
