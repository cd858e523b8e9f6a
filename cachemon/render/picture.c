/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/picture.h"

#include <math.h>
#include <string.h>

#include "cachemon/render/tree.h"

static bool shares_axis(const struct picture *p)
{
	return p->axis.kind != AXIS_NAMES && p->axis.most > p->axis.least;
}

double picture_begin(const struct picture *p)
{
	if (shares_axis(p))
		return p->axis.least;
	return p->axis.kind != AXIS_NAMES && p->axis.nr ? p->axis.from[0] : 0;
}

static double last_point(const struct picture *p)
{
	if (!p->axis.nr)
		return 0;
	switch (p->axis.kind) {
	case AXIS_SPANS:
		return p->axis.to[p->axis.nr - 1];
	case AXIS_PLACES:
		return p->axis.from[p->axis.nr - 1];
	default:
		return (double)p->axis.nr;
	}
}

double picture_end(const struct picture *p)
{
	return shares_axis(p) ? p->axis.most : last_point(p);
}

double picture_middle(const struct picture *p, size_t i)
{
	switch (p->axis.kind) {
	case AXIS_SPANS:
		return (p->axis.from[i] + p->axis.to[i]) / 2;
	case AXIS_PLACES:
		return p->axis.from[i];
	default:
		return (double)i + 0.5;
	}
}

double picture_series_top(const struct picture_series *s, size_t nr)
{
	double top = NAN;

	for (size_t i = 0; i < nr; i++)
		top = fmax(top, s->values[i]);
	return top;
}

/* The sum of the known values at point i. */
static double stacked_at(const struct picture_panel *panel, size_t i)
{
	double sum = NAN;

	for (size_t k = 0; k < panel->nr_series; k++)
		if (!isnan(panel->series[k].values[i]))
			sum = (isnan(sum) ? 0 : sum) + panel->series[k].values[i];
	return sum;
}

double picture_top(const struct picture_panel *panel, size_t nr)
{
	double top = NAN;

	if (panel->top > 0)
		return panel->top;
	if (panel->kind == PANEL_STACK) {
		for (size_t i = 0; i < nr; i++)
			top = fmax(top, stacked_at(panel, i));
		return top;
	}
	for (size_t k = 0; k < panel->nr_series; k++)
		top = fmax(top, picture_series_top(&panel->series[k], nr));
	return top;
}

struct shown picture_value(enum picture_unit unit, double value)
{
	static const char *const names[] = {
		[UNIT_COUNT] = "", [UNIT_PAGES] = " pages", [UNIT_PAGES_PER_S] = " pages/s"};
	struct opt_i64 whole = {.known = isfinite(value) && value >= 0 && value < 9e18};
	struct shown ret = {.s = "-"};

	if (!whole.known)
		return ret;
	whole.value = (int64_t)(value + 0.5);
	switch (unit) {
	case UNIT_SHARE:
		return show_ratio((struct opt_f64){value, true}, false);
	case UNIT_SECONDS:
		return show_ns((struct opt_i64){(int64_t)(fmin(value, 9e9) * 1e9), true});
	case UNIT_BYTES:
		return show_bytes(whole, false);
	case UNIT_NUMBER:
		return show_double((struct opt_f64){value, true}, value < 10 ? 2 : 1);
	default:
		snprintf(ret.s, sizeof(ret.s), "%s%s", show_count(whole, false).s, names[unit]);
		return ret;
	}
}

/* Removes trailing zeros: of ".00" and ".50" before the unit, and " 00s" and " 00m" at the end. */
struct shown picture_round(enum picture_unit unit, double value)
{
	struct shown ret = picture_value(unit, value);
	char *point = strchr(ret.s, '.');
	size_t len = strlen(ret.s);

	if (point) {
		char *end = point + 1 + strspn(point + 1, "0123456789");
		char *cut = end;

		while (cut[-1] == '0')
			cut--;
		cut -= cut == point + 1;
		memmove(cut, end, strlen(end) + 1);
	} else if (len > 4 &&
		   (strcmp(ret.s + len - 4, " 00s") == 0 || strcmp(ret.s + len - 4, " 00m") == 0)) {
		ret.s[len - 4] = '\0';
	}
	return ret;
}

struct shown picture_shown(const struct picture_panel *panel, const struct picture_series *s,
			   double value)
{
	return show_marked(picture_value(panel->unit, value), s->mark);
}

struct shown picture_place(const struct picture *p, double share)
{
	double begin = picture_begin(p);
	struct shown ret = {0};
	size_t i;

	if (p->axis.kind != AXIS_NAMES)
		return picture_value(p->axis.unit, begin + share * (picture_end(p) - begin));
	i = (size_t)(share * (double)p->axis.nr);
	snprintf(ret.s, sizeof(ret.s), "%s", p->axis.names[i < p->axis.nr ? i : p->axis.nr - 1]);
	return ret;
}

/* The highest known value of the points whose middle is between two places; without one, of the
 * point that covers them. NAN: unknown. */
static double highest_between(const struct picture *p, const struct picture_series *s, double from,
			      double to)
{
	double middle = (from + to) / 2;
	double covering = NAN;
	double high = NAN;
	bool found = false;

	for (size_t i = 0; i < p->axis.nr; i++) {
		double centre = picture_middle(p, i);

		if (p->axis.kind == AXIS_SPANS && p->axis.from[i] <= middle &&
		    middle < p->axis.to[i])
			covering = s->values[i];
		/* The last place belongs to the last piece. */
		if (centre < from || (centre >= to && !(i + 1 == p->axis.nr && centre <= to)))
			continue;
		found = true;
		high = fmax(high, s->values[i]);
	}
	return found ? high : covering;
}

static bool is_outside(const struct picture *p, double from)
{
	return shares_axis(p) && p->axis.nr && from >= last_point(p);
}

void picture_sparkline(FILE *out, const struct picture *p, const struct picture_series *s,
		       size_t room)
{
	static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	/* On a shared axis, a character is as long as in the other pictures. */
	size_t nr = p->axis.nr < room && !shares_axis(p) ? p->axis.nr : room;
	double top = s->top > 0 ? s->top : picture_series_top(s, p->axis.nr);
	double begin = picture_begin(p);
	double length = picture_end(p) - begin;

	for (size_t i = 0; i < nr; i++) {
		double share = (double)nr;
		double from = begin + length * (double)i / share;
		double v = highest_between(p, s, from, begin + length * (double)(i + 1) / share);
		int step = top > 0 && v > 0 ? (int)(v / top * 8) : 0;

		if (isnan(v) && is_outside(p, from))
			fputs(".", out);
		else if (isnan(v))
			fputs("?", out);
		else if (v <= 0)
			fputs("_", out);
		else
			fputs(steps[step > 7 ? 7 : step], out);
	}
}

/* Clock units above a minute are not decimal. Days are shown in hours. */
static bool ticks_of_time(double top, size_t max, double *ret_step)
{
	static const double steps[] = {20,   30,   60,	 120,	300,   600,   900,
				       1800, 3600, 7200, 10800, 21600, 43200, 86400};
	enum { NR_STEPS = sizeof(steps) / sizeof(steps[0]) };

	if (!max || !(top > 60) || top > steps[NR_STEPS - 1] * (double)max)
		return false;
	for (size_t i = 0; i < NR_STEPS; i++) {
		*ret_step = steps[i];
		if (steps[i] * (double)max >= top * (1 - 1e-9))
			break;
	}
	return true;
}

size_t picture_ticks_in(enum picture_unit unit, double top, size_t max, double *ret_step)
{
	double one = 1;
	size_t nr;

	if (unit == UNIT_SECONDS && ticks_of_time(top, max, ret_step))
		return (size_t)floor(top / *ret_step + 1e-9);
	if (unit == UNIT_SECONDS && top > 86400)
		one = 86400;
	while (unit == UNIT_BYTES && top / one >= 1024 && isfinite(top))
		one *= 1024;
	nr = picture_ticks(top / one, max, ret_step);
	*ret_step *= one;
	/* Counts have no halves. */
	if (unit == UNIT_COUNT && nr && *ret_step < 1) {
		*ret_step = 1;
		nr = (size_t)floor(top);
	}
	return nr;
}

size_t picture_ticks(double top, size_t max, double *ret_step)
{
	static const double parts[] = {1, 2, 2.5, 5, 10};
	double power;

	if (!(top > 0) || !isfinite(top) || !max) {
		*ret_step = 0;
		return 0;
	}
	power = pow(10, floor(log10(top / (double)max)));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		*ret_step = parts[i] * power;
		if (*ret_step * (double)max >= top * (1 - 1e-9))
			break;
	}
	return (size_t)floor(top / *ret_step + 1e-9);
}

static const char *const unit_names[] = {
	[UNIT_COUNT] = "count",
	[UNIT_NUMBER] = "number",
	[UNIT_PAGES] = "pages",
	[UNIT_SHARE] = "share",
	[UNIT_SECONDS] = "seconds",
	[UNIT_BYTES] = "bytes",
	[UNIT_PAGES_PER_S] = "pages_per_s",
};

static const char *const kind_names[] = {
	[PANEL_STACK] = "stack",
	[PANEL_BARS] = "bars",
	[PANEL_LINES] = "lines",
	[PANEL_LANES] = "lanes",
};

/* tree_double() makes null of what is not known. */
static void put_data_values(struct tree *t, const char *key, const double *values, size_t nr)
{
	if (!values)
		return;
	tree_line(t, key);
	for (size_t i = 0; i < nr; i++)
		tree_double(t, NULL, values[i]);
	tree_end(t);
}

static void put_data_axis(struct tree *t, const struct picture *p)
{
	const struct picture_axis *a = &p->axis;

	tree_object(t, "axis");
	tree_string(t, "name", a->name);
	if (a->kind == AXIS_NAMES) {
		tree_array(t, "names");
		for (size_t i = 0; i < a->nr; i++)
			tree_text(t, NULL, a->names[i]);
		tree_end(t);
	} else {
		tree_string(t, "unit", unit_names[a->unit]);
		tree_double(t, "begin", picture_begin(p));
		tree_double(t, "end", picture_end(p));
		put_data_values(t, a->kind == AXIS_SPANS ? "from" : "at", a->from, a->nr);
		if (a->kind == AXIS_SPANS)
			put_data_values(t, "to", a->to, a->nr);
	}
	tree_end(t);
}

static void put_data_panel(struct tree *t, const struct picture *p,
			   const struct picture_panel *panel)
{
	tree_object(t, NULL);
	tree_string(t, "name", panel->name);
	tree_string(t, "unit", unit_names[panel->unit]);
	tree_string(t, "kind", kind_names[panel->kind]);
	tree_double(t, "top", picture_top(panel, p->axis.nr));
	tree_array(t, "series");
	for (size_t i = 0; i < panel->nr_series; i++) {
		const struct picture_series *s = &panel->series[i];

		tree_object(t, NULL);
		tree_text(t, "name", s->name);
		tree_string(t, "mark", s->mark);
		put_data_values(t, "values", s->values, p->axis.nr);
		put_data_values(t, "low", s->low, p->axis.nr);
		put_data_values(t, "high", s->high, p->axis.nr);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}

void picture_data(struct tree *t, const char *key, const struct picture *p)
{
	if (!p->axis.nr) {
		tree_null(t, key);
		return;
	}
	tree_object(t, key);
	tree_text(t, "title", p->title);
	tree_text(t, "says", p->says);
	put_data_axis(t, p);
	tree_array(t, "panels");
	for (size_t i = 0; i < p->nr_panels; i++)
		put_data_panel(t, p, &p->panels[i]);
	tree_end(t);
	tree_array(t, "marks");
	for (size_t i = 0; i < p->nr_marks; i++) {
		tree_object(t, NULL);
		tree_double(t, "at", p->marks[i].at);
		tree_text(t, "name", p->marks[i].name);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}
