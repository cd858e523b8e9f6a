/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/html.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/*
 * Shapes have their own units, WIDE x HIGH, and are stretched to the available space; words are
 * outside, at percentages of it, and keep their size. So a picture is sharp at any size, and
 * zooming along the axis only changes the viewBox.
 */
enum { WIDE = 12000, HIGH = 1000, TICKS_Y = 3, BAR_WIDE = WIDE / 8 };

static const char *const tone_names[TONE_NR] = {
	[TONE_HIT] = "hit",   [TONE_MISS] = "miss",   [TONE_AHEAD] = "ahead",
	[TONE_LATE] = "late", [TONE_WASTE] = "waste", [TONE_RESIDENT] = "resident",
	[TONE_OPEN] = "open", [TONE_STALL] = "stall", [TONE_BEST] = "best",
	[TONE_A] = "a",	      [TONE_B] = "b",	      [TONE_C] = "c",
	[TONE_D] = "d",
};

const char *html_tone(enum tone tone)
{
	return tone_names[tone];
}

struct plot {
	FILE *out;
	const struct picture *p;
	const struct picture_panel *panel;
	double begin, per; /* units of the drawing per unit of the axis */
	double top;
};

static double x_of(const struct plot *g, double at)
{
	return (at - g->begin) * g->per;
}

/* Downwards, as in drawings. */
static double y_of(const struct plot *g, double value)
{
	return HIGH - fmin(fmax(value / g->top, 0), 1) * HIGH;
}

static void span_of(const struct plot *g, size_t i, double *ret_x, double *ret_width)
{
	const struct picture_axis *a = &g->p->axis;

	*ret_x = a->kind == AXIS_NAMES ? (double)i * g->per : x_of(g, a->from[i]);
	*ret_width = a->kind == AXIS_SPANS ? x_of(g, a->to[i]) - *ret_x : g->per;
}

static void put_box(const struct plot *g, size_t i, double top, double bottom)
{
	double x, width;

	span_of(g, i, &x, &width);
	/* Bars of names have gaps; bars of time do not. */
	if (g->p->axis.kind == AXIS_NAMES) {
		double wide = fmin(width * 0.8, BAR_WIDE);

		x += (width - wide) / 2;
		width = wide;
	}
	/* Around its place, and never past the edge. */
	if (g->p->axis.kind == AXIS_PLACES) {
		double end = fmin(x + width / 2, WIDE);

		x = fmax(x - width / 2, 0);
		width = end - x;
	}
	fprintf(g->out, "M%.0f %.0fH%.0fV%.0fH%.0fz", x, top, x + width, bottom, x);
}

static void put_stack(const struct plot *g, size_t which)
{
	const struct picture_panel *panel = g->panel;

	fprintf(g->out, "<path class=\"f-%s\" d=\"", tone_names[panel->series[which].tone]);
	for (size_t i = 0; i < g->p->axis.nr; i++) {
		double below = 0;
		double value = panel->series[which].values[i];

		if (isnan(value) || value <= 0)
			continue;
		for (size_t k = 0; k < which; k++)
			below += fmax(panel->series[k].values[i], 0); /* fmax: NAN is 0 here */
		put_box(g, i, y_of(g, below + value), y_of(g, below));
	}
	fputs("\"/>\n", g->out);
}

static void put_lane(const struct plot *g, size_t which)
{
	const struct picture_series *s = &g->panel->series[which];
	double high = (double)HIGH / (double)g->panel->nr_series;
	double top = (double)which * high;

	fprintf(g->out, "<path class=\"f-%s\" d=\"", tone_names[s->tone]);
	for (size_t i = 0; i < g->p->axis.nr; i++)
		if (s->values[i] > 0)
			put_box(g, i, top + high * 0.1, top + high * 0.9);
	fputs("\"/>\n", g->out);
}

/* Shown where no value of the panel is known, or a part of a stack is missing. */
static bool has_gap(const struct picture_panel *panel, size_t nr, size_t i)
{
	size_t unknown = 0;
	bool of_known = false;

	for (size_t k = 0; k < panel->nr_series; k++) {
		const struct picture_series *s = &panel->series[k];

		if (!isnan(s->values[i]))
			continue;
		unknown++;
		of_known = of_known || !isnan(picture_series_top(s, nr));
	}
	return unknown == panel->nr_series || (of_known && panel->kind == PANEL_STACK);
}

static void put_gaps(const struct plot *g)
{
	bool any = false;

	for (size_t i = 0; i < g->p->axis.nr; i++) {
		if (!has_gap(g->panel, g->p->axis.nr, i))
			continue;
		if (!any)
			fputs("<path class=\"gap\" d=\"", g->out);
		any = true;
		put_box(g, i, 0, HIGH);
	}
	if (any)
		fputs("\"/>\n", g->out);
}

/* A line through values, broken at unknown ones. back: from the last point to the first, to
 * close a band. */
static void put_way(const struct plot *g, const struct picture_series *s, const double *values,
		    bool back)
{
	size_t nr = g->p->axis.nr;
	bool on = back;

	for (size_t k = 0; k < nr; k++) {
		size_t i = back ? nr - 1 - k : k;
		double x = x_of(g, picture_middle(g->p, i));

		if (isnan(values[i])) {
			on = back;
			continue;
		}
		if (on && s->steps)
			fprintf(g->out, back ? "V%.0fH%.0f" : "H%.0fV%.0f",
				back ? y_of(g, values[i]) : x, back ? x : y_of(g, values[i]));
		else
			fprintf(g->out, "%c%.0f %.0f", on ? 'L' : 'M', x, y_of(g, values[i]));
		on = true;
	}
}

static void put_line(const struct plot *g, const struct picture_series *s)
{
	if (s->low && s->high) {
		fprintf(g->out, "<path class=\"band f-%s\" d=\"", tone_names[s->tone]);
		put_way(g, s, s->high, false);
		put_way(g, s, s->low, true);
		fputs("z\"/>\n", g->out);
	}
	fprintf(g->out, "<path class=\"line l-%s\" d=\"", tone_names[s->tone]);
	put_way(g, s, s->values, false);
	fputs("\"/>\n", g->out);
}

static void put_marks(const struct plot *g)
{
	for (size_t i = 0; i < g->p->nr_marks; i++)
		fprintf(g->out, "<path class=\"mark\" d=\"M%.0f 0V%d\"/>\n",
			x_of(g, g->p->marks[i].at), HIGH);
}

static void put_shapes(const struct plot *g)
{
	fprintf(g->out,
		"<svg class=\"shapes\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n", WIDE,
		HIGH);
	put_gaps(g);
	for (size_t i = 0; i < g->panel->nr_series && g->top > 0; i++) {
		if (g->panel->kind == PANEL_LINES)
			put_line(g, &g->panel->series[i]);
		else if (g->panel->kind == PANEL_LANES)
			put_lane(g, i);
		else
			put_stack(g, i);
	}
	put_marks(g);
	fputs("</svg>\n", g->out);
}

/* A value of the scale; its unit is next to the name of the panel. */
static void put_value(FILE *out, enum picture_unit unit, double value)
{
	if (value <= 0)
		putc('0', out);
	else if (unit != UNIT_PAGES && unit != UNIT_PAGES_PER_S && unit != UNIT_COUNT)
		fputs(picture_value(unit, value).s, out);
	else if (value >= 1e9)
		fprintf(out, "%.3g G", value / 1e9);
	else if (value >= 1e6)
		fprintf(out, "%.3g M", value / 1e6);
	else
		fputs(picture_value(UNIT_COUNT, value).s, out);
}

static void put_scale_value(FILE *out, enum picture_unit unit, double value)
{
	if (value > 0 && (unit > UNIT_PAGES_PER_S || unit == UNIT_NUMBER))
		fputs(picture_round(unit, value).s, out);
	else
		put_value(out, unit, value);
}

/* Lines in the background; their values are to the left. */
static void put_scale(const struct plot *g)
{
	double step = 0;
	size_t nr = g->panel->kind == PANEL_LANES
			    ? 0
			    : picture_ticks_in(g->panel->unit, g->top, TICKS_Y, &step);

	for (size_t i = 0; i <= nr; i++) {
		double y = 100 - (double)i * step / g->top * 100;

		fprintf(g->out,
			"<line x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
			"<text x=\"-6\" y=\"%.2f%%\" dy=\"%s\">",
			y, y, y, i ? y < 4 ? "9" : "4" : "0");
		/* Lanes have no scale. */
		if (g->panel->kind != PANEL_LANES)
			put_scale_value(g->out, g->panel->unit, (double)i * step);
		fputs("</text>\n", g->out);
	}
}

/* The unit of several values is next to the name of the panel. */
static void put_key(const struct plot *g, const struct picture_series *s)
{
	double top = picture_series_top(s, g->p->axis.nr);

	fprintf(g->out, "<span class=\"key k-%s\">", tone_names[s->tone]);
	html_text(g->out, s->name);
	if (isnan(top)) {
		fputs(" <i>not measured</i></span>\n", g->out);
		return;
	}
	fputs(top > 0 ? " <i>peak " : " <i>none", g->out);
	if (top > 0 && s->mark)
		html_text(g->out, s->mark);
	if (top > 0 && g->panel->nr_series > 1)
		put_value(g->out, g->panel->unit, top);
	else if (top > 0)
		fputs(picture_value(g->panel->unit, top).s, g->out);
	fputs("</i></span>\n", g->out);
}

static void put_keys(const struct plot *g)
{
	static const char *const units[] = {
		[UNIT_PAGES] = ", pages", [UNIT_PAGES_PER_S] = ", pages/s"};
	const struct picture_panel *panel = g->panel;
	const char *unit = panel->unit <= UNIT_PAGES_PER_S ? units[panel->unit] : NULL;

	fputs("<p class=\"keys\">", g->out);
	if (panel->nr_series > 1 || panel->kind == PANEL_LANES) {
		fputs("<b>", g->out);
		html_text(g->out, panel->name);
		fprintf(g->out, "%s</b>\n",
			unit && strcasecmp(panel->name, unit + 2) != 0 ? unit : "");
	}
	for (size_t i = 0; i < panel->nr_series; i++)
		put_key(g, &panel->series[i]);
	fputs("</p>\n", g->out);
}

/* The one marked place, in words next to its line. */
static void put_mark_name(const struct plot *g)
{
	const struct picture_mark *mark = g->p->marks;
	double share = x_of(g, mark->at) / WIDE;

	fprintf(g->out, "<text class=\"at\" x=\"%.2f%%\" dx=\"%d\" y=\"14\" text-anchor=\"%s\">",
		share * 100, share > 0.5 ? -5 : 5, share > 0.5 ? "end" : "start");
	html_text(g->out, mark->name);
	fputs("</text>\n", g->out);
}

static void put_panel(FILE *out, const struct picture *p, const struct picture_panel *panel)
{
	struct plot g = {.out = out, .p = p, .panel = panel, .begin = picture_begin(p)};
	double length = picture_end(p) - g.begin;

	g.per = length > 0 ? WIDE / length : 0;
	g.top = picture_top(panel, p->axis.nr);
	/* Keeps the full width of a line at the top. */
	if (panel->kind == PANEL_LINES)
		g.top *= 1.02;
	fputs("<div class=\"panel\">", out);
	put_keys(&g);
	if (!(g.top > 0)) {
		fprintf(out, "<p class=\"empty\">%s</p></div>\n",
			isnan(g.top) ? "Not measured." : "None.");
		return;
	}
	fprintf(out, "<svg class=\"plot%s\" aria-hidden=\"true\">\n",
		panel->kind == PANEL_LINES   ? " tall"
		: panel->kind == PANEL_LANES ? " lanes"
					     : "");
	put_scale(&g);
	put_shapes(&g);
	if (p->nr_marks == 1 && p->axis.kind == AXIS_PLACES)
		put_mark_name(&g);
	fputs("</svg></div>\n", out);
}

/* TICKS: the maximum; FREE: ticks after 0 that always fit; then how many names fit, and how many
 * letters of a name. */
enum { TICKS = 6, FREE = 2, NAMES_FREE = 3, NAMES_FEW = 10, NAMES_MANY = 16, NAME_SHORT = 5 };

/* The number of names that fit depends on the page: three always fit, and every fourth of about
 * sixteen. */
static const char *name_class(const struct picture *p, size_t i)
{
	static const char *const classes[] = {"t4", "t1", "t2", "t1"};
	size_t nr = p->axis.nr;

	if (nr <= NAMES_FREE)
		return classes[0];
	/* A label wider than its bar would end outside the picture. */
	if (nr <= NAMES_FEW && i + 1 == nr && strlen(p->axis.names[i]) > NAME_SHORT)
		return classes[2];
	return classes[(nr > NAMES_MANY ? i / 2 : nr > NAMES_FEW ? i : i * 2) % 4];
}

static void put_axis_name(FILE *out, const struct picture *p, size_t i)
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

/* The text below the panels: places of the axis, and the marks there. */
static void put_axis(FILE *out, const struct picture *p)
{
	fputs("<svg class=\"axis\" aria-hidden=\"true\">\n", out);
	if (p->axis.kind == AXIS_NAMES)
		for (size_t i = 0; i < p->axis.nr; i++)
			put_axis_name(out, p, i);
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

void html_picture(struct doc *d, const struct picture *p)
{
	FILE *out = d->out;

	fprintf(out, "<figure id=\"%s\">", p->id);
	html_caption(out, p->title, p->says);
	fputs("\n<div class=\"picture\"", out);
	html_label(out, p->title, p->says);
	if (p->axis.kind == AXIS_SPANS)
		fprintf(out, " data-zoom=\"%.6g %.6g\"", picture_begin(p), picture_end(p));
	fputs(">\n", out);
	for (size_t i = 0; i < p->nr_panels; i++)
		put_panel(out, p, &p->panels[i]);
	put_axis(out, p);
	fputs("</div>\n", out);
	html_numbers(out, p);
	fputs("</figure>\n", out);
}
