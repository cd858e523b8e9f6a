/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

/* About what a page shows of an axis; less than one of these is no gap. */
enum { WIDE = 1000 };

static void put_head_cell(FILE *out, const char *text)
{
	fputs("<th scope=\"col\" class=\"r\">", out);
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

/* Where a row begins on the axis, 0 to 1: for who points at the picture. */
static double place_of(const struct picture *p, size_t row)
{
	double begin = picture_begin(p);
	double length = picture_end(p) - begin;

	if (p->axis.kind == AXIS_NAMES)
		return (double)row / (double)p->axis.nr;
	return length > 0 ? (p->axis.from[row] - begin) / length : 0;
}

/* Where a row ends, when the next does not begin there: behind it nothing is drawn. */
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
	fputs("<details class=\"numbers\"><summary>The numbers as a table</summary>\n"
	      "<div class=\"scroll\" tabindex=\"0\"><table><caption>",
	      out);
	html_text(out, p->title);
	fputs("</caption>", out);
	put_numbers_head(out, p);
	fputs("<tbody>\n", out);
	for (size_t i = 0; i < p->axis.nr; i++)
		put_numbers_row(out, p, i);
	fputs("</tbody></table></div></details>\n", out);
}
