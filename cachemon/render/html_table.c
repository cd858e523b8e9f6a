/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/render/glossary.h"

enum { LONG = 40 };

static const char *cell_class(enum doc_align align)
{
	switch (align) {
	case DOC_RIGHT:
		return " class=\"r\"";
	case DOC_WRAP:
	case DOC_OWN_LINE:
		return " class=\"w\"";
	case DOC_BAR:
		return " class=\"bar\"";
	default:
		return "";
	}
}

static void put_bar(FILE *out, double share)
{
	if (share > 0)
		fprintf(out,
			"<svg aria-hidden=\"true\"><rect width=\"%.2f%%\" height=\"100%%\"/></svg>",
			share * 100);
}

static void put_link(FILE *out, const char *text)
{
	size_t len = strcspn(text, " ");

	fprintf(out, "<a href=\"%.*s\">", (int)len, text);
	html_wrapped(out, text + len + (text[len] == ' '));
	fputs("</a>", out);
}

/* The glossary's definition of a word, as a tooltip. */
static void put_title(FILE *out, const char *name)
{
	_cleanup_free_ char *text = glossary_find(name);

	if (!text)
		return;
	fputs(" title=\"", out);
	html_text(out, text);
	putc('"', out);
}

/* own: the row's header is a word of the program, not the name of a file or a job. */
static void put_cell(FILE *out, enum doc_align align, bool first, bool own, const char *text)
{
	/* A long name may wrap anywhere. */
	if (align == DOC_LEFT && strlen(text) > LONG)
		align = DOC_WRAP;
	/* A row's subject is its header, for screen readers. */
	fprintf(out, first ? "<th scope=\"row\"%s" : "<td%s", cell_class(align));
	if (first && own)
		put_title(out, text);
	putc('>', out);
	if (align == DOC_BAR)
		put_bar(out, strtod(text, NULL));
	else if (align == DOC_LINK && *text)
		put_link(out, text);
	else if (align == DOC_WRAP || align == DOC_OWN_LINE)
		html_wrapped(out, text);
	else
		html_text(out, text);
	fputs(first ? "</th>" : "</td>", out);
}

static void put_head(FILE *out, const struct doc_table *t)
{
	fputs("<thead><tr>", out);
	for (size_t c = 0; c < t->nr_columns; c++) {
		const char *name = t->columns[c].name;

		/* An empty header cell is a plain cell. */
		fprintf(out, *name ? "<th scope=\"col\"%s" : "<td%s",
			cell_class(t->columns[c].align));
		put_title(out, name);
		putc('>', out);
		html_text(out, name);
		fputs(*name ? "</th>" : "</td>", out);
	}
	fputs("</tr></thead>\n", out);
}

void html_table(struct doc *d, const struct doc_table *t)
{
	/* Rows of items may be sorted; rows of totals keep their order. */
	bool own_line = t->columns[0].align == DOC_OWN_LINE;
	const char *kind = t->things  ? " class=\"things whole\""
			   : own_line ? " class=\"things\""
				      : "";

	/* Scrollable parts must be focusable by keys. */
	fprintf(d->out, "<div class=\"scroll\" tabindex=\"0\"><table%s>\n", kind);
	if (t->caption) {
		fputs("<caption><span>", d->out);
		html_sentence(d->out, t->caption);
		fputs("</span></caption>\n", d->out);
	}
	put_head(d->out, t);
	fputs("<tbody>\n", d->out);
	for (size_t row = 0; row + t->nr_columns <= t->nr_cells; row += t->nr_columns) {
		fputs("<tr>", d->out);
		for (size_t c = 0; c < t->nr_columns; c++)
			put_cell(d->out, t->columns[c].align, c == 0, !own_line && !t->things,
				 t->cells[row + c]);
		fputs("</tr>\n", d->out);
	}
	fputs("</tbody></table></div>\n", d->out);
}

/* About as many points as a page shows of an axis: shorter gaps are not visible. */
enum { WIDE = 1000 };

/* The values of a drawing, as a folded table. */
#define NUMBERS_BEGIN                                                                              \
	"<details class=\"numbers\"><summary>The numbers as a table</summary>\n"                   \
	"<div class=\"scroll\" tabindex=\"0\"><table>"
#define NUMBERS_END "</tbody></table></div></details>\n"

static void put_head_cell(FILE *out, const char *text)
{
	fputs("<th scope=\"col\" class=\"r\"", out);
	put_title(out, text);
	putc('>', out);
	html_text(out, text);
	fputs("</th>", out);
}

static void put_numbers_head(FILE *out, const struct picture *p)
{
	char from[64];

	snprintf(from, sizeof(from), "%s%s", p->axis.name,
		 p->axis.kind == AXIS_SPANS ? ", from" : "");
	fputs("<thead><tr>", out);
	put_head_cell(out, from);
	if (p->axis.kind == AXIS_SPANS)
		put_head_cell(out, "to");
	for (size_t k = 0; k < p->nr_panels; k++)
		for (size_t i = 0; i < p->panels[k].nr_series; i++) {
			put_head_cell(out, p->panels[k].series[i].name);
			if (p->panels[k].series[i].low) {
				put_head_cell(out, "at least");
				put_head_cell(out, "at most");
			}
		}
	fputs("</tr></thead>\n", out);
}

static void put_number(FILE *out, const char *value)
{
	fputs("<td class=\"r\">", out);
	html_text(out, value);
	fputs("</td>", out);
}

/* Where a row begins on the axis, 0 to 1, for pointing at the picture. */
static double place_of(const struct picture *p, size_t row)
{
	double begin = picture_begin(p);
	double length = picture_end(p) - begin;

	if (p->axis.kind == AXIS_NAMES)
		return (double)row / (double)p->axis.nr;
	return length > 0 ? (p->axis.from[row] - begin) / length : 0;
}

/* Where a row ends, if the next one does not begin there: nothing is drawn after it. */
static void put_end(FILE *out, const struct picture *p, size_t row)
{
	double begin = picture_begin(p);
	double length = picture_end(p) - begin;
	double next;

	if (p->axis.kind != AXIS_SPANS || !(length > 0))
		return;
	next = row + 1 < p->axis.nr ? p->axis.from[row + 1] : picture_end(p);
	if (next - p->axis.to[row] > length / WIDE)
		fprintf(out, " data-end=\"%.4f\"", (p->axis.to[row] - begin) / length);
}

static void put_numbers_row(FILE *out, const struct picture *p, size_t row)
{
	fprintf(out, "<tr data-x=\"%.4f\"", place_of(p, row));
	put_end(out, p, row);
	fputs("><th scope=\"row\" class=\"r\">", out);
	if (p->axis.kind == AXIS_NAMES)
		html_text(out, p->axis.names[row]);
	else
		fputs(picture_value(p->axis.unit, p->axis.from[row]).s, out);
	fputs("</th>", out);
	if (p->axis.kind == AXIS_SPANS)
		fprintf(out, "<td class=\"r\">%s</td>",
			picture_value(p->axis.unit, p->axis.to[row]).s);
	for (size_t k = 0; k < p->nr_panels; k++)
		for (size_t i = 0; i < p->panels[k].nr_series; i++) {
			const struct picture_panel *panel = &p->panels[k];
			const struct picture_series *s = &panel->series[i];

			put_number(out, picture_shown(panel, s, s->values[row]).s);
			if (s->low) {
				put_number(out, picture_value(panel->unit, s->low[row]).s);
				put_number(out, picture_value(panel->unit, s->high[row]).s);
			}
		}
	fputs("</tr>\n", out);
}

void html_numbers(FILE *out, const struct picture *p)
{
	fputs(NUMBERS_BEGIN "<caption>", out);
	html_text(out, p->title);
	fputs("</caption>", out);
	put_numbers_head(out, p);
	fputs("<tbody>\n", out);
	for (size_t i = 0; i < p->axis.nr; i++)
		put_numbers_row(out, p, i);
	fputs(NUMBERS_END, out);
}

/* Equal neighbouring cells are drawn as one. */
static bool are_alike(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) < 0.005;
}

static size_t end_of(const struct doc_strip *s, size_t from)
{
	size_t end = from + 1;

	while (end < s->nr && are_alike(s->shares[from], s->shares[end]))
		end++;
	return end;
}

/* A cell's opacity shows its share of the part. */
static void put_cells(FILE *out, const struct doc_strip *s)
{
	size_t end;

	fprintf(out,
		"<svg class=\"strip\" viewBox=\"0 0 %zu 1\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\">",
		s->nr);
	for (size_t i = 0; i < s->nr; i = end) {
		double share = s->shares[i];

		end = end_of(s, i);
		if (isnan(share))
			fprintf(out, "<path class=\"gap\" d=\"M%zu 0h%zuv1H%zuz\"/>", i, end - i,
				i);
		else if (share > 0)
			fprintf(out,
				"<path class=\"f-%s\" opacity=\"%.2f\" d=\"M%zu 0h%zuv1H%zuz\"/>",
				html_tone(s->tone), 0.25 + 0.75 * fmin(share, 1), i, end - i, i);
	}
	fputs("</svg>", out);
}

static void put_share(FILE *out, double share, const char *mark)
{
	put_number(out, show_marked(picture_value(UNIT_SHARE, share), mark).s);
}

/* One row for consecutive parts that are equal in all strips. */
static void put_map_numbers(FILE *out, const struct doc_map *map)
{
	size_t nr = map->nr_strips ? map->strips[0].nr : 0;
	size_t end;

	fputs(NUMBERS_BEGIN "<thead><tr>", out);
	put_head_cell(out, "of the file, from");
	put_head_cell(out, "to");
	for (size_t k = 0; k < map->nr_strips; k++)
		put_head_cell(out, map->strips[k].name);
	fputs("</tr></thead><tbody>\n", out);
	for (size_t i = 0; i < nr; i = end) {
		end = nr;
		for (size_t k = 0; k < map->nr_strips; k++) {
			size_t own = end_of(&map->strips[k], i);

			end = own < end ? own : end;
		}
		fprintf(out, "<tr><th scope=\"row\" class=\"r\">%s</th>",
			picture_value(UNIT_SHARE, (double)i / (double)nr).s);
		put_share(out, (double)end / (double)nr, NULL);
		for (size_t k = 0; k < map->nr_strips; k++)
			put_share(out, map->strips[k].shares[i], map->strips[k].mark);
		fputs("</tr>\n", out);
	}
	fputs(NUMBERS_END, out);
}

void html_map(struct doc *d, const struct doc_map *map)
{
	fputs("<figure class=\"map\">", d->out);
	html_caption(d->out, map->name, map->says);
	fputs("\n<table class=\"strips\"><tbody>\n", d->out);
	for (size_t i = 0; i < map->nr_strips; i++) {
		fputs("<tr><th scope=\"row\">", d->out);
		html_text(d->out, map->strips[i].name);
		fputs("</th><td>", d->out);
		put_cells(d->out, &map->strips[i]);
		fputs("</td></tr>\n", d->out);
	}
	fputs("</tbody></table>\n", d->out);
	put_map_numbers(d->out, map);
	fputs("</figure>\n", d->out);
}
