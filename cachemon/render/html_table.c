/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

#include <stdlib.h>
#include <string.h>

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

static void put_cell(FILE *out, enum doc_align align, bool first, const char *text)
{
	/* A long name may take several lines wherever it stands. */
	if (align == DOC_LEFT && strlen(text) > LONG)
		align = DOC_WRAP;
	/* What a row is about heads it for who hears the table. */
	fprintf(out, first ? "<th scope=\"row\"%s>" : "<td%s>", cell_class(align));
	if (align == DOC_BAR)
		put_bar(out, strtod(text, NULL));
	else if (align == DOC_LINK && *text)
		fprintf(out, "<a href=\"%s\">%s</a>", text, text);
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

		/* A head without a word heads nothing. */
		fprintf(out, *name ? "<th scope=\"col\"%s>" : "<td%s>",
			cell_class(t->columns[c].align));
		html_text(out, name);
		fputs(*name ? "</th>" : "</td>", out);
	}
	fputs("</tr></thead>\n", out);
}

void html_table(struct doc *d, const struct doc_table *t)
{
	/* Rows that stand for things may be put in another order; those of totals have theirs. */
	bool own_line = t->columns[0].align == DOC_OWN_LINE;
	const char *kind = own_line    ? " class=\"things\""
			   : t->things ? " class=\"things whole\""
				       : "";

	/* What scrolls can be reached by keys. */
	fprintf(d->out, "<div class=\"scroll\" tabindex=\"0\"><table%s>\n", kind);
	if (t->caption) {
		fputs("<caption><span>", d->out);
		html_text(d->out, t->caption);
		fputs("</span></caption>\n", d->out);
	}
	put_head(d->out, t);
	fputs("<tbody>\n", d->out);
	for (size_t row = 0; row + t->nr_columns <= t->nr_cells; row += t->nr_columns) {
		fputs("<tr>", d->out);
		for (size_t c = 0; c < t->nr_columns; c++)
			put_cell(d->out, t->columns[c].align, c == 0, t->cells[row + c]);
		fputs("</tr>\n", d->out);
	}
	fputs("</tbody></table></div>\n", d->out);
}
