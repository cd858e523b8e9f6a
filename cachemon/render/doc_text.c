/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/terminal.h"
#include "cachemon/figures/show.h"
#include "cachemon/render/wrap.h"

enum { GAP = 2, BAR_WIDTH = 24, WRAP_MIN = 12, COLUMNS_MAX = 16 };

/* Set while a document is written: wcwidth() only knows the characters of the locale's charset. */
struct text_state {
	locale_t utf8, before;
	int width;							/* width of lines */
	enum { BLOCK_FACTS, BLOCK_PARA, BLOCK_STEPS, BLOCK_CODE } last; /* of a screen */
};

static int page_width(const struct doc *d)
{
	const struct text_state *s = d->state;

	return s ? s->width : terminal_text_width(d->out);
}

static void text_para(struct doc *d, const char *text)
{
	wrap_put(d->out, text, page_width(d), 0);
	fputs("\n\n", d->out);
}

static void text_code(struct doc *d, const char *language, const char *text)
{
	wrap_code(d->out, language, text, page_width(d));
	putc('\n', d->out);
}

static void text_heading(struct doc *d, int level, const char *text)
{
	int width = wrap_width(text);

	wrap_put(d->out, text, page_width(d), 0);
	putc('\n', d->out);
	for (int i = 0; i < width && i < page_width(d); i++)
		putc(" =-."[level], d -> out);
	fputs(level < 3 ? "\n\n" : "\n", d->out);
}

static void begin_locale(struct doc *d)
{
	struct text_state *s = calloc(1, sizeof(*s));

	d->state = s;
	if (s) {
		s->width = terminal_text_width(d->looks_like ?: d->terminal ?: d->out);
		s->utf8 = newlocale(LC_CTYPE_MASK, d->terminal ? "C" : "C.UTF-8", (locale_t)0);
		if (s->utf8)
			s->before = uselocale(s->utf8);
	}
}

static void text_begin(struct doc *d, const char *title)
{
	begin_locale(d);
	text_heading(d, 1, title);
}

static void text_end(struct doc *d)
{
	struct text_state *s = d->state;

	if (s && s->utf8) {
		uselocale(s->before);
		freelocale(s->utf8);
	}
	free(s);
	d->state = NULL;
}

static int column_width(const struct doc_table *t, size_t column)
{
	int width = wrap_width(t->columns[column].name);

	if (t->columns[column].align == DOC_BAR)
		return BAR_WIDTH;
	for (size_t i = column; i < t->nr_cells; i += t->nr_columns) {
		int w = wrap_width(t->cells[i]);

		if (w > width)
			width = w;
	}
	return width;
}

/* The width of each column; false if the table does not fit even with wrapped text. */
static bool fit_columns(const struct doc_table *t, int page, int widths[])
{
	int total = 0;
	int over = 0;
	bool own_line = t->columns[0].align == DOC_OWN_LINE;

	for (size_t c = own_line ? 1 : 0; c < t->nr_columns; c++) {
		widths[c] = column_width(t, c);
		total += widths[c] + GAP;
	}
	over = total - (own_line ? 0 : GAP) - page;
	for (size_t c = t->nr_columns; c-- > 0 && over > 0;) {
		int room = widths[c] - WRAP_MIN;
		int cut = room < over ? room : over;

		if (t->columns[c].align != DOC_WRAP || cut <= 0)
			continue;
		widths[c] -= cut;
		over -= cut;
	}
	return over <= 0;
}

static int bar_length(const char *share)
{
	int n = (int)(strtod(share, NULL) * BAR_WIDTH + 0.5);

	return n < 0 ? 0 : n > BAR_WIDTH ? BAR_WIDTH : n;
}

/* Writes a cell at column want of a line that has reached column at; returns the new column. An
 * empty cell writes nothing, so that no line ends in blanks. */
static int put_cell(FILE *out, enum doc_align align, const char *text, int width, int want, int at)
{
	int length = align == DOC_BAR ? bar_length(text) : wrap_width(text);

	if (length == 0)
		return at;
	if (align == DOC_RIGHT)
		want += width - length;
	wrap_pad(out, want - at);
	if (align == DOC_BAR)
		for (int i = 0; i < length; i++)
			putc('#', out);
	else
		wrap_put(out, text, width, want);
	return want + length;
}

static void put_facts(FILE *out, const struct doc_table *t, int page)
{
	int width = column_width(t, 0) + GAP;

	for (size_t i = 0; i + 2 <= t->nr_cells; i += 2) {
		fputs(t->cells[i], out);
		wrap_pad(out, width - wrap_width(t->cells[i]));
		wrap_put(out, t->cells[i + 1], page - width, width);
		putc('\n', out);
	}
}

/* "1. Title [id]", then its gain and what to do. */
static void put_steps(struct doc *d, const struct doc_table *t)
{
	enum { INDENT = 3 };

	fprintf(d->out, "%s:\n", t->caption);
	for (size_t i = 0; i + 4 <= t->nr_cells; i += 4) {
		char *const *c = &t->cells[i];
		char *title = NULL, *text = NULL;

		if (asprintf(&title, "%s [%s]", c[0], c[1]) < 0 ||
		    asprintf(&text, "Gain: %s. %s", c[2], c[3]) < 0) {
			title = text = NULL;
			d->failed = true;
		} else {
			fprintf(d->out, "%zu. ", i / 4 + 1);
			wrap_put(d->out, title, page_width(d) - INDENT, INDENT);
			putc('\n', d->out);
			wrap_pad(d->out, INDENT);
			wrap_put(d->out, text, page_width(d) - INDENT, INDENT);
			putc('\n', d->out);
		}
		if (d->step_ends)
			d->step_ends[i / 4] = doc_position(d);
		free(title);
		free(text);
	}
}

static void text_facts(struct doc *d, const struct doc_table *t)
{
	put_facts(d->out, t, page_width(d));
	putc('\n', d->out);
}

static void text_steps(struct doc *d, const struct doc_table *t)
{
	put_steps(d, t);
	putc('\n', d->out);
}

static void put_line(FILE *out, const struct doc_table *t, char *const cells[], int page,
		     const int widths[])
{
	size_t first = t->columns[0].align == DOC_OWN_LINE ? 1 : 0;
	int want = 0;
	int at = 0;

	if (first) {
		wrap_put(out, cells[0], page - GAP, GAP);
		putc('\n', out);
		want = GAP;
	}
	for (size_t c = first; c < t->nr_columns; c++) {
		at = put_cell(out, t->columns[c].align, cells[c], widths[c], want, at);
		want += widths[c] + GAP;
	}
	putc('\n', out);
}

static void put_names(FILE *out, const struct doc_table *t, int page, const int widths[])
{
	char *names[COLUMNS_MAX];
	struct doc_column columns[COLUMNS_MAX];
	struct doc_table head = *t;

	for (size_t c = 0; c < COLUMNS_MAX; c++) {
		columns[c] = c < t->nr_columns ? t->columns[c] : (struct doc_column){"", DOC_LEFT};
		names[c] = (char *)columns[c].name;
		if (columns[c].align == DOC_BAR)
			columns[c].align = DOC_LEFT;
	}
	head.columns = columns;
	put_line(out, &head, names, page, widths);
}

/* "name: value" lines, for a table that is too wide for any page. */
static void put_records(FILE *out, const struct doc_table *t, int page)
{
	for (size_t i = 0; i < t->nr_cells; i++) {
		const struct doc_column *c = &t->columns[i % t->nr_columns];
		bool first = i % t->nr_columns == 0;

		if (c->align == DOC_BAR)
			continue;
		fprintf(out, "%s%s%s", first ? "" : "  ", c->name, *c->name ? ": " : "");
		wrap_put(out, t->cells[i], page - wrap_width(c->name) - 4, 4);
		putc('\n', out);
	}
}

static void text_table(struct doc *d, const struct doc_table *t)
{
	int widths[COLUMNS_MAX] = {0}, page = page_width(d);

	if (!t->nr_columns)
		return;
	if (t->caption) {
		wrap_put(d->out, t->caption, page, 0);
		putc('\n', d->out);
	}
	if (t->nr_columns > COLUMNS_MAX || !fit_columns(t, page, widths)) {
		put_records(d->out, t, page);
	} else {
		put_names(d->out, t, page, widths);
		for (size_t i = 0; i + t->nr_columns <= t->nr_cells; i += t->nr_columns)
			put_line(d->out, t, t->cells + i, page, widths);
	}
	putc('\n', d->out);
}

/* Columns of a picture's line: name, drawing, highest value. */
enum { NAME_WIDTH = 17, LINE_WIDTH = 34, PEAK_WIDTH = 22 };

static void put_series(FILE *out, const struct picture *p, const struct picture_panel *panel,
		       const struct picture_series *s, int page)
{
	double top = picture_series_top(s, p->axis.nr);
	int room = page - NAME_WIDTH - PEAK_WIDTH;
	int width = wrap_width(s->name);

	fputs(s->name, out);
	wrap_pad(out, width < NAME_WIDTH ? NAME_WIDTH - width : 1);
	picture_sparkline(out, p, s, room < 1 ? 1 : room < LINE_WIDTH ? room : LINE_WIDTH);
	if (isnan(top))
		fputs("  not measured\n", out);
	else
		fprintf(out, "  peak %s\n", picture_shown(panel, s, top).s);
}

static void put_place(FILE *out, const struct picture *p, int page)
{
	char text[384];

	snprintf(text, sizeof(text),
		 "From left to right: %s, %s to %s; _ means none, ? means not known%s.",
		 p->axis.name, picture_place(p, 0).s, picture_place(p, 1).s,
		 p->axis.most > p->axis.least ? ", . is after its end" : "");
	wrap_put(out, text, page, 0);
	fputs("\n\n", out);
}

static void text_picture(struct doc *d, const struct picture *p)
{
	if (p->axis.kind == AXIS_NAMES) {
		doc_names_table(d, p);
		return;
	}
	wrap_put(d->out, p->title, page_width(d), 0);
	fprintf(d->out, "\n");
	if (*p->says) {
		wrap_put(d->out, p->says, page_width(d), 0);
		fputs("\n", d->out);
	}
	for (size_t k = 0; k < p->nr_panels; k++)
		for (size_t i = 0; i < p->panels[k].nr_series; i++)
			put_series(d->out, p, &p->panels[k], &p->panels[k].series[i],
				   page_width(d));
	put_place(d->out, p, page_width(d));
	doc_marks_para(d, p);
}

static void text_map(struct doc *d, const struct doc_map *map)
{
	wrap_put(d->out, map->name, page_width(d), 0);
	putc('\n', d->out);
	for (size_t i = 0; i < map->nr_strips; i++) {
		int width = wrap_width(map->strips[i].name);

		fputs(map->strips[i].name, d->out);
		wrap_pad(d->out, width < 15 ? 16 - width : 1);
		doc_strip_line(d->out, &map->strips[i]);
		putc('\n', d->out);
	}
	wrap_put(d->out, map->says, page_width(d), 0);
	fputs("\n\n", d->out);
}

static void text_part_begin(struct doc *d, const char *id, bool folded, const char *title)
{
	text_heading(d, 2, title);
}

static void text_fold_begin(struct doc *d, const char *title)
{
	fprintf(d->out, "%s:\n\n", title);
}

struct doc doc_text(FILE *out)
{
	static const struct doc_ops ops = {
		DOC_OPS_OF_TEXT,     .begin = text_begin,	    .heading = text_heading,
		.para = text_para,   .words = doc_plain_words,	    .code = text_code,
		.table = text_table, .part_begin = text_part_begin, .fold_begin = text_fold_begin,
		.map = text_map,     .picture = text_picture,	    .end = text_end,
		.facts = text_facts, .steps = text_steps,
	};

	return (struct doc){.ops = &ops, .out = out, .plain_text = true};
}

/* A blank line if the previous block was of another kind. */
static void screen_gap(struct doc *d, int kind)
{
	struct text_state *l = d->state;

	if (l && (int)l->last != kind)
		putc('\n', d->out);
	if (l)
		l->last = kind;
}

static void screen_begin(struct doc *d, const char *title)
{
	begin_locale(d);
	wrap_put(d->out, title, page_width(d), 0);
	putc('\n', d->out);
}

static void screen_heading(struct doc *d, int level, const char *text)
{
	struct text_state *l = d->state;

	putc('\n', d->out);
	wrap_put(d->out, text, page_width(d), 0);
	putc('\n', d->out);
	if (l)
		l->last = BLOCK_PARA;
}

static void screen_para(struct doc *d, const char *text)
{
	screen_gap(d, BLOCK_PARA);
	wrap_put(d->out, text, page_width(d), 0);
	putc('\n', d->out);
}

/* For lines that end with a newline. */
static void screen_code(struct doc *d, const char *language, const char *text)
{
	screen_gap(d, BLOCK_CODE);
	wrap_code(d->out, language, text, page_width(d));
}

static void screen_facts(struct doc *d, const struct doc_table *t)
{
	screen_gap(d, BLOCK_FACTS);
	put_facts(d->out, t, page_width(d));
}

static void screen_steps(struct doc *d, const struct doc_table *t)
{
	screen_gap(d, BLOCK_STEPS);
	put_steps(d, t);
}

struct doc doc_screen(FILE *out)
{
	static const struct doc_ops ops = {
		DOC_OPS_OF_TEXT,       .begin = screen_begin,	      .heading = screen_heading,
		.para = screen_para,   .words = doc_plain_words,      .code = screen_code,
		.table = text_table,   .part_begin = text_part_begin, .fold_begin = text_fold_begin,
		.map = text_map,       .picture = text_picture,	      .end = text_end,
		.facts = screen_facts, .steps = screen_steps,
	};

	return (struct doc){.ops = &ops, .out = out, .plain_text = true};
}
