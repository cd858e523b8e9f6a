/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

static char *format_inert(const char *fmt, va_list args)
{
	char *text = NULL;
	char *ret = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	ret = escape_inert_copy(text, strlen(text));
	free(text);
	return ret;
}

void doc_begin(struct doc *d, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = format_inert(fmt, args);
	va_end(args);
	d->failed = d->failed || !text;
	d->ops->begin(d, text ? text : "");
	free(text);
}

void doc_heading(struct doc *d, int level, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = format_inert(fmt, args);
	va_end(args);
	d->failed = d->failed || !text;
	if (text)
		d->ops->heading(d, level, text);
	free(text);
}

void doc_para(struct doc *d, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = format_inert(fmt, args);
	va_end(args);
	d->failed = d->failed || !text;
	if (text)
		d->ops->para(d, text);
	free(text);
}

void doc_para_text(struct doc *d, char *text)
{
	if (!text)
		d->failed = true;
	else if (*text)
		doc_para(d, "%s", text);
	free(text);
}

void doc_words(struct doc *d, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = format_inert(fmt, args);
	va_end(args);
	d->failed = d->failed || !text;
	if (text)
		d->ops->words(d, text);
	free(text);
}

/* Line by line: what ends a line is not to be made visible, nor is a tab. */
static void inert_lines(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		for (; *text == '\t'; text++, len--)
			fputs("        ", out);
		escape_inert(out, text, len);
		putc('\n', out);
		text += len;
		text += *text == '\n';
	}
}

void doc_code(struct doc *d, const char *language, const char *text)
{
	struct text_builder b;
	char *inert;

	if (text_begin(&b))
		inert_lines(b.out, text);
	inert = text_end(&b);
	if (!inert)
		d->failed = true;
	else
		d->ops->code(d, language, inert);
	free(inert);
}

struct doc_table doc_table(const char *caption, const struct doc_column *columns, size_t nr_columns)
{
	return (struct doc_table){.caption = caption, .columns = columns, .nr_columns = nr_columns};
}

/* Takes text. */
static void cell_add(struct doc_table *t, char *text)
{
	if (!text || vec_reserve(t->cells, t->room, t->nr_cells + 1)) {
		free(text);
		t->failed = true;
		return;
	}
	t->cells[t->nr_cells++] = text;
}

void doc_cell(struct doc_table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = format_inert(fmt, args);
	va_end(args);
	cell_add(t, text);
}

void doc_cell_text(struct doc_table *t, char *text)
{
	if (text)
		doc_cell(t, "%s", text);
	else
		t->failed = true;
	free(text);
}

void doc_cell_name(struct doc_table *t, const struct bytes *name, const char *absent)
{
	if (name->data)
		cell_add(t, escape_inert_copy(name->data, name->len));
	else
		doc_cell(t, "%s", absent);
}

static void table_free(struct doc_table *t)
{
	for (size_t i = 0; i < t->nr_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct doc_table){0};
}

void doc_put_table(struct doc *d, struct doc_table *t)
{
	if (t->failed)
		d->failed = true;
	else if (t->nr_columns && t->nr_cells)
		d->ops->table(d, t);
	table_free(t);
}

int doc_end(struct doc *d)
{
	d->ops->end(d);
	if (d->failed)
		return -ENOMEM;
	return ferror(d->out) ? -EIO : 0;
}
