/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/terminal.h"
#include "cachemon/figures/show.h"

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

/* Columns that a character takes: from the C library's table in a UTF-8 locale, else as ASCII. */
static int char_width(uint32_t cp)
{
	char plain[TERMINAL_PLAIN_MAX];
	int w;

	if (cp < 0x80)
		return 1;
	if (MB_CUR_MAX == 1) {
		terminal_plain(cp, plain);
		return (int)strlen(plain);
	}
	w = wcwidth((wchar_t)cp);
	return w < 0 ? 1 : w;
}

/* In columns. */
static int wrap_width(const char *s)
{
	size_t len = strlen(s);
	uint32_t cp = 0;
	int width = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_decode(s + i, len - i, &cp);

		width += n ? char_width(cp) : 1;
		i += n ? n : 1;
	}
	return width;
}

/* Columns up to the next blank. */
static int word_width(const char *s)
{
	char word[128];
	size_t len = strcspn(s, " ");

	if (len >= sizeof(word))
		len = sizeof(word) - 1;
	memcpy(word, s, len);
	word[len] = '\0';
	return wrap_width(word);
}

/* Bytes of s that fit in width, broken after a blank if there is one; a word longer than a line
 * is broken after a slash. */
static size_t fit_line(const char *s, int width)
{
	size_t len = strlen(s);
	size_t blank = 0;
	size_t slash = 0;
	size_t i = 0;
	uint32_t cp = 0;
	int w = 0;

	while (i < len) {
		size_t n = escape_decode(s + i, len - i, &cp);

		if (!n)
			n = 1;
		w += char_width(cp);
		if (w > width && !(cp == ' ' && w == width + 1)) {
			if (slash > blank && (!blank || word_width(s + blank) > width))
				return slash;
			return blank ? blank : i ? i : n;
		}
		/* Keeps "42.1 s" on one line. */
		if (cp == ' ' && !(i && s[i - 1] >= '0' && s[i - 1] <= '9'))
			blank = i + n;
		else if (cp == '/')
			slash = i + n;
		i += n;
	}
	return len;
}

static void wrap_pad(FILE *out, int n)
{
	for (int i = 0; i < n; i++)
		putc(' ', out);
}

/* Text in lines of width; all except the first are indented. No line ends in a blank. */
static void wrap_put(FILE *out, const char *s, int width, int indent)
{
	for (bool first = true; first || *s; first = false) {
		size_t n = fit_line(s, width);
		size_t shown = n;

		while (shown && s[shown - 1] == ' ')
			shown--;
		if (!first) {
			putc('\n', out);
			wrap_pad(out, indent);
		}
		fwrite(s, 1, shown, out);
		s += n;
	}
}

static void text_para(struct doc *d, const char *text)
{
	wrap_put(d->out, text, page_width(d), 0);
	fputs("\n\n", d->out);
}

/* The bytes of a word with the spaces before it. A space in quotes or after a backslash separates
 * no words; quote: the open one, or 0. */
static size_t shell_word(const char *line, size_t len, char *quote)
{
	size_t n = 0;

	while (n < len && line[n] == ' ')
		n++;
	for (; n < len && (*quote || line[n] != ' '); n++) {
		if (line[n] == '\\' && *quote != '\'' && n + 1 < len)
			n++;
		else if (*quote == line[n])
			*quote = 0;
		else if (!*quote && (line[n] == '\'' || line[n] == '"'))
			*quote = line[n];
	}
	return n;
}

static int width_of(const char *text, size_t len)
{
	char *copy = strndup(text, len);
	int ret = copy ? wrap_width(copy) : (int)len;

	free(copy);
	return ret;
}

enum { CODE_INDENT = 4 };

/* A line of a shell that is too long goes on after a backslash, so that it can be copied. A comment
 * that does not fit after its command is left out. */
static void put_shell(FILE *out, const char *line, size_t len, int width, char *quote)
{
	int column = CODE_INDENT;
	bool first = true;

	while (len) {
		bool inside = *quote;
		size_t n = shell_word(line, len, quote);
		size_t spaces = inside ? 0 : strspn(line, " ");
		bool comment = !inside && spaces < len && line[spaces] == '#';
		int w = width_of(line, comment ? len : n);
		int end = n < len ? (int)strlen(" \\") : 0;

		if (comment) {
			*quote = 0;
			if (first || column + w <= width)
				fprintf(out, "%.*s", (int)len, line);
			return;
		}
		/* Not before a word that no line has room for. */
		if (!first && spaces && n > spaces && column + w + end > width &&
		    2 * CODE_INDENT + w - (int)spaces + end <= width) {
			fputs(" \\\n", out);
			wrap_pad(out, 2 * CODE_INDENT);
			column = 2 * CODE_INDENT;
			line += spaces;
			len -= spaces;
			n -= spaces;
			w -= (int)spaces;
		}
		fprintf(out, "%.*s", (int)n, line);
		column += w;
		line += n;
		len -= n;
		first = false;
	}
}

/* Other languages are not wrapped: their lines would mean something else. */
static void put_code(FILE *out, const char *language, const char *text, int width)
{
	/* Text of a here-document is not the shell's. */
	bool shell = language && !strcmp(language, "shell") && !strstr(text, "<<");
	char quote = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		if (len)
			wrap_pad(out, CODE_INDENT);
		if (shell)
			put_shell(out, text, len, width, &quote);
		else
			fprintf(out, "%.*s", (int)len, text);
		if (text[len])
			putc('\n', out);
	}
}

static void text_code(struct doc *d, const char *language, const char *text)
{
	put_code(d->out, language, text, page_width(d));
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
	put_code(d->out, language, text, page_width(d));
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
