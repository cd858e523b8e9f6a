/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/svg.h"

#include "report/doc_ops.h"
#include "report/show.h"

enum { LEFT = 8, RIGHT = 792, NAME_HEIGHT = 22, STRIP_HEIGHT = 64, STRIP_GAP = 14, AXIS = 24 };

/* What somebody hears who does not see the picture: an attribute. */
static void put_label(FILE *out, const struct doc_timeline *t)
{
	fprintf(out, "Pages a second over %.1f seconds. ", t->ends_s[t->nr_points - 1]);
	for (size_t i = 0; i < t->nr_series; i++) {
		html_text(out, t->series[i].name);
		fprintf(out, ": up to %s a second. ",
			show_rate(doc_series_top(t, &t->series[i])).s);
	}
	fputs("The table below has all points.", out);
}

static void put_strip(FILE *out, const struct doc_timeline *t, size_t which, int top_y)
{
	const struct doc_series *s = &t->series[which];
	double end = t->ends_s[t->nr_points - 1];
	double per_s = end > 0 ? (RIGHT - LEFT) / end : 0;
	double top = doc_series_top(t, s);
	int floor_y = top_y + NAME_HEIGHT + STRIP_HEIGHT;

	fprintf(out, "<text class=\"name\" x=\"%d\" y=\"%d\">", LEFT, top_y + 13);
	html_text(out, s->name);
	fprintf(out, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">peak %s pages/s</text>\n",
		RIGHT, top_y + 13, show_rate(top).s);
	for (size_t i = 0; i < t->nr_points; i++) {
		double x = LEFT + t->starts_s[i] * per_s;
		double w = (t->ends_s[i] - t->starts_s[i]) * per_s;
		double h = top > 0 ? s->values[i] / top * STRIP_HEIGHT : 0;

		if (s->values[i] < 0)
			fprintf(out,
				"<rect class=\"gap\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
				"height=\"%d\"/>\n",
				x, floor_y - STRIP_HEIGHT, w, STRIP_HEIGHT);
		else if (h > 0)
			fprintf(out,
				"<rect class=\"s%zu\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
				"height=\"%.2f\"/>\n",
				which % 3, x, floor_y - h, w > 1.5 ? w - 0.5 : w, h);
	}
	fprintf(out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT,
		RIGHT, floor_y, floor_y);
}

static void put_table(struct doc *d, const struct doc_timeline *t)
{
	fputs("<details><summary>The same as a table (pages a second)</summary>\n"
	      "<div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"r\">from, s</th>"
	      "<th scope=\"col\" class=\"r\">to, s</th>",
	      d->out);
	for (size_t s = 0; s < t->nr_series; s++) {
		fputs("<th scope=\"col\" class=\"r\">", d->out);
		html_text(d->out, t->series[s].name);
		fputs("</th>", d->out);
	}
	fputs("</tr></thead>\n<tbody>\n", d->out);
	for (size_t i = 0; i < t->nr_points; i++) {
		fprintf(d->out, "<tr><td class=\"r\">%.2f</td><td class=\"r\">%.2f</td>",
			t->starts_s[i], t->ends_s[i]);
		for (size_t s = 0; s < t->nr_series; s++)
			fprintf(d->out, "<td class=\"r\">%s</td>",
				show_rate(t->series[s].values[i]).s);
		fputs("</tr>\n", d->out);
	}
	fputs("</tbody></table></div></details>\n", d->out);
}

void svg_timeline(struct doc *d, const struct doc_timeline *t)
{
	int strip = NAME_HEIGHT + STRIP_HEIGHT + STRIP_GAP;
	int height = (int)t->nr_series * strip + AXIS;

	fprintf(d->out, "<figure><svg viewBox=\"0 0 800 %d\" role=\"img\" aria-label=\"", height);
	put_label(d->out, t);
	fputs("\">\n", d->out);
	for (size_t i = 0; i < t->nr_series; i++)
		put_strip(d->out, t, i, (int)i * strip);
	fprintf(d->out,
		"<text x=\"%d\" y=\"%d\">0 s</text>"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.1f s</text>\n</svg>\n<figcaption>"
		"Pages a second over time; a grey area was not measured.</figcaption></figure>\n",
		LEFT, height - 8, RIGHT, height - 8, t->ends_s[t->nr_points - 1]);
	put_table(d, t);
}
