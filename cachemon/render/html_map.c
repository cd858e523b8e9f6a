/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

#include <math.h>

/* Cells that are alike are drawn as one. */
static bool alike(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) < 0.005;
}

static size_t end_of(const struct doc_strip *s, size_t from)
{
	size_t end = from + 1;

	while (end < s->nr && alike(s->shares[from], s->shares[end]))
		end++;
	return end;
}

/* A cell's opacity says how much of the part it is. */
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
	fputs("<td class=\"r\">", out);
	html_text(out, show_marked(picture_value(UNIT_SHARE, share), mark).s);
	fputs("</td>", out);
}

/* A row for parts on end that are alike in all strips. */
static void put_numbers(FILE *out, const struct doc_map *map)
{
	size_t nr = map->nr_strips ? map->strips[0].nr : 0;
	size_t end;

	fputs("<details class=\"numbers\"><summary>The numbers as a table</summary>\n"
	      "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>"
	      "<th scope=\"col\" class=\"r\">of the file, from</th>"
	      "<th scope=\"col\" class=\"r\">to</th>",
	      out);
	for (size_t k = 0; k < map->nr_strips; k++) {
		fputs("<th scope=\"col\" class=\"r\">", out);
		html_text(out, map->strips[k].name);
		fputs("</th>", out);
	}
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
	fputs("</tbody></table></div></details>\n", out);
}

void html_map(struct doc *d, const struct doc_map *map)
{
	fputs("<figure class=\"map\"><figcaption><b>", d->out);
	html_text(d->out, map->name);
	fputs("</b> ", d->out);
	html_text(d->out, map->says);
	fputs("</figcaption>\n<table class=\"strips\"><tbody>\n", d->out);
	for (size_t i = 0; i < map->nr_strips; i++) {
		fputs("<tr><th scope=\"row\">", d->out);
		html_text(d->out, map->strips[i].name);
		fputs("</th><td>", d->out);
		put_cells(d->out, &map->strips[i]);
		fputs("</td></tr>\n", d->out);
	}
	fputs("</tbody></table>\n", d->out);
	put_numbers(d->out, map);
	fputs("</figure>\n", d->out);
}
