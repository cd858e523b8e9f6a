/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/terminal.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

/* NULL: the argument was NULL, or out of memory (*failed). */
static char *inert(bool *failed, const char *text)
{
	char *ret = text ? escape_inert_copy(text, strlen(text)) : NULL;

	*failed = *failed || (text && !ret);
	return ret;
}

static char *inert_of(bool *failed, const char *fmt, va_list args)
{
	char *text = NULL;
	char *ret;

	if (vasprintf(&text, fmt, args) < 0) {
		*failed = true;
		return NULL;
	}
	ret = inert(failed, text);
	free(text);
	return ret;
}

/* The inert text made of the function's variable arguments. */
#define INERT_ARGS(failed, fmt)                                                                    \
	({                                                                                         \
		va_list args_;                                                                     \
		char *text_;                                                                       \
		va_start(args_, fmt);                                                              \
		text_ = inert_of(failed, fmt, args_);                                              \
		va_end(args_);                                                                     \
		text_;                                                                             \
	})

void doc_begin(struct doc *d, const char *fmt, ...)
{
	char *title = INERT_ARGS(&d->failed, fmt);
	FILE *at = d->looks_like ?: d->out;
	bool ascii = d->plain_text ? terminal_text_is_ascii(at) : terminal_is_ascii(at);
	FILE *plain = ascii ? terminal_plain_stream(d->out) : NULL;

	if (plain) {
		d->terminal = d->out;
		d->out = plain;
	}
	d->ops->begin(d, title ? title : "");
	free(title);
}

void doc_heading(struct doc *d, int level, const char *fmt, ...)
{
	char *text = INERT_ARGS(&d->failed, fmt);

	if (text)
		d->ops->heading(d, level, text);
	free(text);
}

void doc_para(struct doc *d, const char *fmt, ...)
{
	char *text = INERT_ARGS(&d->failed, fmt);

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
	char *text = INERT_ARGS(&d->failed, fmt);

	if (text)
		d->ops->words(d, text);
	free(text);
}

void doc_code(struct doc *d, const char *language, const char *text)
{
	struct text_builder b;
	char *inert;

	if (text_begin(&b))
		escape_lines(b.out, text);
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
static void add_cell(struct doc_table *t, char *text)
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
	add_cell(t, INERT_ARGS(&t->failed, fmt));
}

void doc_cell_shown(struct doc_table *t, struct shown value)
{
	doc_cell(t, "%s", value.s);
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
		add_cell(t, escape_inert_copy(name->data, name->len));
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

static void put_rows(struct doc *d, struct doc_table *t,
		     void (*put)(struct doc *d, const struct doc_table *t))
{
	if (t->failed)
		d->failed = true;
	else if (t->nr_columns && t->nr_cells)
		put(d, t);
	table_free(t);
}

void doc_put_table(struct doc *d, struct doc_table *t)
{
	put_rows(d, t, d->ops->table);
}

void doc_put_facts(struct doc *d, struct doc_table *t)
{
	put_rows(d, t, d->ops->facts);
}

long doc_position(struct doc *d)
{
	FILE *end = d->terminal ?: d->out;

	fflush(d->out);
	fflush(end);
	return ftell(end);
}

void doc_put_steps(struct doc *d, struct doc_table *t)
{
	put_rows(d, t, d->ops->steps);
}

void doc_put_contents(struct doc *d, const struct doc_entry *entries, size_t nr)
{
	if (nr)
		d->ops->contents(d, entries, nr);
}

void doc_part_begin(struct doc *d, const char *id, bool folded, const char *fmt, ...)
{
	char *title = INERT_ARGS(&d->failed, fmt);

	d->ops->part_begin(d, id, folded, title ? title : "");
	free(title);
}

void doc_part_end(struct doc *d)
{
	d->ops->part_end(d);
}

void doc_fold_begin(struct doc *d, const char *fmt, ...)
{
	char *title = INERT_ARGS(&d->failed, fmt);

	d->ops->fold_begin(d, title ? title : "");
	free(title);
}

void doc_fold_end(struct doc *d)
{
	d->ops->fold_end(d);
}

void doc_pair_begin(struct doc *d, const char *title)
{
	char *safe = inert(&d->failed, title);

	d->ops->pair_begin(d, safe ? safe : "");
	free(safe);
}

void doc_pair_next(struct doc *d, const char *title)
{
	char *safe = inert(&d->failed, title);

	d->ops->pair_next(d, safe ? safe : "");
	free(safe);
}

void doc_pair_end(struct doc *d)
{
	d->ops->pair_end(d);
}

void doc_put_grades(struct doc *d, const struct doc_grade *grades, size_t nr)
{
	if (nr)
		d->ops->grades(d, grades, nr);
}

void doc_card_begin(struct doc *d, const struct doc_card *card)
{
	char *title = inert(&d->failed, card->title);
	char *subject = inert(&d->failed, card->subject);
	char *text = inert(&d->failed, card->text);
	struct doc_card safe = *card;

	safe.title = title ? title : "";
	safe.subject = subject;
	safe.text = text ? text : "";
	d->ops->card_begin(d, &safe);
	free(title);
	free(subject);
	free(text);
}

void doc_card_end(struct doc *d)
{
	d->ops->card_end(d);
}

void doc_put_map(struct doc *d, const struct doc_map *map)
{
	char *name = inert(&d->failed, map->name);
	struct doc_map safe = *map;

	safe.name = name ? name : "";
	d->ops->map(d, &safe);
	free(name);
}

void doc_put_picture(struct doc *d, const struct picture *p)
{
	if (p->axis.nr && p->nr_panels)
		d->ops->picture(d, p);
}

void doc_put_flow(struct doc *d, const struct doc_flow *flow)
{
	struct doc_flow safe = *flow;
	char *copies[2][FLOW_NAMES] = {0};

	if (!flow->nr || !d->ops->flow)
		return;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < flow->nr_names[side]; i++) {
			copies[side][i] = inert(&d->failed, flow->names[side][i]);
			safe.names[side][i] = copies[side][i] ? copies[side][i] : "";
		}
	d->ops->flow(d, &safe);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < flow->nr_names[side]; i++)
			free(copies[side][i]);
}

int doc_end(struct doc *d)
{
	d->ops->end(d);
	if (d->terminal) {
		fclose(d->out);
		d->out = d->terminal;
	}
	if (d->failed)
		return -ENOMEM;
	return ferror(d->out) ? -EIO : 0;
}
