/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As code: some renderers find addresses in their output, and entities do not prevent that. */
static void put_at(FILE *out, const char *s, const char *p)
{
	if (p == s || p[-1] != '@')
		putc('`', out);
	putc('@', out);
	if (p[1] != '@')
		putc('`', out);
}

/* Whether it would act as markup; an underscore inside a word and the sign of a number do not. */
static bool is_markup(const char *s, const char *p)
{
	if (*p == '_')
		return p == s || !isalnum((unsigned char)p[-1]) || !isalnum((unsigned char)p[1]);
	if (*p == '+' || *p == '-' || *p == '=')
		return p == s && p[1] && (p[1] == ' ' || p[1] == *p);
	return strchr("\\`*[]|~#$", *p);
}

/* Escapes markup and what GitHub turns into links (://, www., @). */
static void put_text(FILE *out, const char *s)
{
	for (const char *p = s; *p; p++) {
		if (*p == '<')
			fputs("&lt;", out);
		else if (*p == '>')
			fputs("&gt;", out);
		else if (*p == '&')
			fputs("&amp;", out);
		else if (*p == '@')
			put_at(out, s, p);
		else if (*p == ':' && p[1] == '/')
			fputs("&#58;", out);
		else if (*p == '.' && p - s >= 3 && !strncasecmp(p - 3, "www", 3))
			fputs("&#46;", out);
		else if (is_markup(s, p))
			fprintf(out, "\\%c", *p);
		else
			putc(*p, out);
	}
}

static void md_heading(struct doc *d, int level, const char *text)
{
	for (int i = 0; i < level; i++)
		putc('#', d->out);
	putc(' ', d->out);
	put_text(d->out, text);
	fputs("\n\n", d->out);
}

static void md_begin(struct doc *d, const char *title)
{
	md_heading(d, 1, title);
}

static void md_para(struct doc *d, const char *text)
{
	put_text(d->out, text);
	fputs("\n\n", d->out);
}

/* No markup acts between backticks, and the text has none. */
static void put_code(FILE *out, const char *s)
{
	if (*s)
		fprintf(out, "`%s`", s);
}

static void md_words(struct doc *d, const char *text)
{
	doc_put_words(d->out, text, put_text, put_code);
	fputs("\n\n", d->out);
}

/* A fence that does not occur in the text. */
static void md_code(struct doc *d, const char *language, const char *text)
{
	const char *fence = strstr(text, "```") ? "~~~~~~" : "```";

	fprintf(d->out, "%s%s\n%s%s\n\n", fence, language ? language : "", text, fence);
}

static void put_bar(FILE *out, const char *share)
{
	int n = (int)(strtod(share, NULL) * 20 + 0.5);

	for (int i = 0; i < n && i < 20; i++)
		fputs("█", out);
}

static void put_link(FILE *out, const char *text)
{
	size_t len = strcspn(text, " ");

	putc('[', out);
	put_text(out, text + len + (text[len] == ' '));
	fprintf(out, "](%.*s)", (int)len, text);
}

static void put_row(FILE *out, const struct doc_table *t, char *const cells[])
{
	for (size_t c = 0; c < t->nr_columns; c++) {
		fputs("| ", out);
		if (t->columns[c].align == DOC_BAR)
			put_bar(out, cells[c]);
		else if (t->columns[c].align == DOC_LINK && *cells[c])
			put_link(out, cells[c]);
		else
			put_text(out, cells[c]);
		putc(' ', out);
	}
	fputs("|\n", out);
}

static void md_table(struct doc *d, const struct doc_table *t)
{
	if (t->caption) {
		put_text(d->out, t->caption);
		fputs(":\n\n", d->out);
	}
	for (size_t c = 0; c < t->nr_columns; c++) {
		fputs("| ", d->out);
		put_text(d->out, t->columns[c].name);
		putc(' ', d->out);
	}
	fputs("|\n", d->out);
	for (size_t c = 0; c < t->nr_columns; c++)
		fputs(t->columns[c].align == DOC_RIGHT ? "| ---: " : "| --- ", d->out);
	fputs("|\n", d->out);
	for (size_t row = 0; row + t->nr_columns <= t->nr_cells; row += t->nr_columns)
		put_row(d->out, t, t->cells + row);
	putc('\n', d->out);
}

static void put_series(FILE *out, const struct picture *p, const struct picture_panel *panel,
		       const struct picture_series *s)
{
	double top = picture_series_top(s, p->axis.nr);

	fputs("| ", out);
	put_text(out, s->name);
	fputs(" | `", out);
	picture_sparkline(out, p, s, 60);
	fprintf(out, "` | %s |\n", isnan(top) ? "not measured" : picture_shown(panel, s, top).s);
}

static void md_picture(struct doc *d, const struct picture *p)
{
	if (p->axis.kind == AXIS_NAMES) {
		doc_names_table(d, p);
		return;
	}
	fputs("**", d->out);
	put_text(d->out, p->title);
	fputs("** ", d->out);
	put_text(d->out, p->says);
	fprintf(d->out, "\n\n| | %s, %s to %s | peak |\n|---|---|---:|\n", p->axis.name,
		picture_place(p, 0).s, picture_place(p, 1).s);
	for (size_t k = 0; k < p->nr_panels; k++)
		for (size_t i = 0; i < p->panels[k].nr_series; i++)
			put_series(d->out, p, &p->panels[k], &p->panels[k].series[i]);
	putc('\n', d->out);
	doc_marks_para(d, p);
}

static void md_map(struct doc *d, const struct doc_map *map)
{
	fputs("| ", d->out);
	put_text(d->out, map->name);
	fputs(" | |\n| --- | --- |\n", d->out);
	for (size_t i = 0; i < map->nr_strips; i++) {
		fprintf(d->out, "| %s | `", map->strips[i].name);
		doc_strip_line(d->out, &map->strips[i]);
		fputs("` |\n", d->out);
	}
	putc('\n', d->out);
	md_para(d, map->says);
}

static void md_facts(struct doc *d, const struct doc_table *t)
{
	for (size_t i = 0; i + 2 <= t->nr_cells; i += 2) {
		fprintf(d->out, "- **%s**: ", t->cells[i]);
		put_text(d->out, t->cells[i + 1]);
		putc('\n', d->out);
	}
	putc('\n', d->out);
}

static void md_steps(struct doc *d, const struct doc_table *t)
{
	fprintf(d->out, "**%s**\n\n", t->caption);
	for (size_t i = 0; i + 4 <= t->nr_cells; i += 4) {
		fprintf(d->out, "%zu. **", i / 4 + 1);
		put_text(d->out, t->cells[i]);
		fprintf(d->out, "** (`%s`). Gain: ", t->cells[i + 1]);
		put_text(d->out, t->cells[i + 2]);
		fputs(". ", d->out);
		put_text(d->out, t->cells[i + 3]);
		putc('\n', d->out);
	}
	putc('\n', d->out);
}

static void md_part_begin(struct doc *d, const char *id, bool folded, const char *title)
{
	md_heading(d, 2, title);
}

static void md_fold_begin(struct doc *d, const char *title)
{
	fputs("**", d->out);
	put_text(d->out, title);
	fputs("**\n\n", d->out);
}

struct doc doc_markdown(FILE *out)
{
	static const struct doc_ops ops = {
		DOC_OPS_OF_TEXT,   .begin = md_begin,		.heading = md_heading,
		.para = md_para,   .words = md_words,		.code = md_code,
		.table = md_table, .part_begin = md_part_begin, .fold_begin = md_fold_begin,
		.map = md_map,	   .picture = md_picture,	.end = doc_nothing,
		.facts = md_facts, .steps = md_steps,
	};

	return (struct doc){.ops = &ops, .out = out};
}
