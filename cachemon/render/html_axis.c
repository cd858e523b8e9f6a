/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

#include <string.h>

/* TICKS: at most; FREE: behind 0, that always have room; then numbers of names that have, and
 * letters of a name that has. */
enum { TICKS = 6, FREE = 2, NAMES_FREE = 3, NAMES_FEW = 10, NAMES_MANY = 16, NAME_SHORT = 5 };

/* How many names have room depends on the page: three always have, and every fourth of some
 * sixteen. */
static const char *name_class(const struct picture *p, size_t i)
{
	static const char *const classes[] = {"t4", "t1", "t2", "t1"};
	size_t nr = p->axis.nr;

	if (nr <= NAMES_FREE)
		return classes[0];
	/* Wider than its bar it would end behind the picture. */
	if (nr <= NAMES_FEW && i + 1 == nr && strlen(p->axis.names[i]) > NAME_SHORT)
		return classes[2];
	return classes[(nr > NAMES_MANY ? i / 2 : nr > NAMES_FEW ? i : i * 2) % 4];
}

static void put_name(FILE *out, const struct picture *p, size_t i)
{
	size_t nr = p->axis.nr;
	bool last = nr > NAMES_FEW && i + 1 == nr;

	if (nr > NAMES_MANY && i % 2)
		return;
	fprintf(out, "<text class=\"%s\" x=\"%.2f%%\" y=\"12\" text-anchor=\"%s\">",
		name_class(p, i), last ? 100 : ((double)i + 0.5) / (double)nr * 100,
		last ? "end" : "middle");
	html_text(out, p->axis.names[i]);
	fputs("</text>\n", out);
}

static void put_ticks(FILE *out, const struct picture *p)
{
	double begin = picture_begin(p);
	double length = picture_end(p) - begin;
	double step = 0;
	size_t nr = picture_ticks_in(p->axis.unit, length, TICKS, &step);

	for (size_t i = 0; i <= nr; i++) {
		double share = (double)i * step / length;

		fprintf(out,
			"<text class=\"%s\" x=\"%.2f%%\" y=\"12\" text-anchor=\"%s\">%s</text>\n",
			nr > FREE && i % 2 ? "t2" : "t4", share * 100,
			!i	       ? "start"
			: share > 0.95 ? "end"
				       : "middle",
			picture_round(p->axis.unit, begin + (double)i * step).s);
	}
}

void html_axis(FILE *out, const struct picture *p)
{
	fputs("<svg class=\"axis\" aria-hidden=\"true\">\n", out);
	if (p->axis.kind == AXIS_NAMES)
		for (size_t i = 0; i < p->axis.nr; i++)
			put_name(out, p, i);
	else
		put_ticks(out, p);
	fputs("</svg>\n", out);
	for (size_t i = 0; i < p->nr_marks; i++) {
		fputs(i ? "; " : "<p class=\"marks\">Marks: ", out);
		html_text(out, p->marks[i].name);
	}
	if (p->nr_marks)
		fputs("</p>\n", out);
}
