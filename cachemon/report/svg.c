/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/svg.h"

#include "report/doc_ops.h"
#include "report/show.h"

/* Units of a strip's drawing, which is stretched to the width of the page: words stay outside. */
enum { WIDTH = 800, HEIGHT = 64 };

/* What somebody hears who does not see the picture: an attribute. */
static void put_label(FILE *out, const struct doc_timeline *t)
{
	fprintf(out, "Pages a second over %.1f seconds. ", t->ends_s[t->nr_points - 1]);
	for (size_t i = 0; i < t->nr_series; i++) {
		html_text(out, t->series[i].name);
		if (doc_series_top(t, &t->series[i]) < 0)
			fputs(": not measured. ", out);
		else
			fprintf(out, ": up to %s a second. ",
				show_rate(doc_series_top(t, &t->series[i])).s);
	}
	fputs("The table below has all points.", out);
}

static void put_strip(FILE *out, const struct doc_timeline *t, size_t which)
{
	const struct doc_series *s = &t->series[which];
	double end = t->ends_s[t->nr_points - 1];
	double per_s = end > 0 ? WIDTH / end : 0;
	double top = doc_series_top(t, s);

	fputs("<p><b>", out);
	html_text(out, s->name);
	if (top < 0)
		fputs("</b><span>not measured</span></p>\n", out);
	else
		fprintf(out, "</b><span>peak %s pages/s</span></p>\n", show_rate(top).s);
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n", WIDTH, HEIGHT);
	for (size_t i = 0; i < t->nr_points; i++) {
		double x = t->starts_s[i] * per_s;
		double w = (t->ends_s[i] - t->starts_s[i]) * per_s;
		double h = top > 0 ? s->values[i] / top * HEIGHT : 0;

		if (s->values[i] < 0)
			fprintf(out,
				"<rect class=\"gap\" x=\"%.2f\" y=\"0\" width=\"%.2f\" "
				"height=\"%d\"/>\n",
				x, w, HEIGHT);
		else if (h > 0)
			fprintf(out,
				"<rect class=\"s%zu\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
				"height=\"%.2f\"/>\n",
				which % 3, x, HEIGHT - h, w > 1.5 ? w - 0.5 : w, h);
	}
	fputs("</svg>\n", out);
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
	fputs("<figure><div class=\"chart\" role=\"img\" aria-label=\"", d->out);
	put_label(d->out, t);
	fputs("\">\n", d->out);
	for (size_t i = 0; i < t->nr_series; i++)
		put_strip(d->out, t, i);
	fprintf(d->out,
		"<p><span>0 s</span><span>%.1f s</span></p>\n</div>\n<figcaption>"
		"Pages a second over time; a grey area was not measured.</figcaption></figure>\n",
		t->ends_s[t->nr_points - 1]);
	put_table(d, t);
}
