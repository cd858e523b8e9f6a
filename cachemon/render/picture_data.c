/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/picture_data.h"

#include <math.h>
#include <string.h>

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
static void put_values(struct tree *t, const char *key, const double *values, size_t nr)
{
	if (!values)
		return;
	tree_line(t, key);
	for (size_t i = 0; i < nr; i++)
		tree_double(t, NULL, values[i]);
	tree_end(t);
}

/* Text of the program's own that may have a name in it. */
static void put_text(struct tree *t, const char *key, const char *s)
{
	tree_bytes(t, key, s, s ? strlen(s) : 0);
}

static void put_axis(struct tree *t, const struct picture *p)
{
	const struct picture_axis *a = &p->axis;

	tree_object(t, "axis");
	tree_string(t, "name", a->name);
	if (a->kind == AXIS_NAMES) {
		tree_array(t, "names");
		for (size_t i = 0; i < a->nr; i++)
			put_text(t, NULL, a->names[i]);
		tree_end(t);
	} else {
		tree_string(t, "unit", unit_names[a->unit]);
		tree_double(t, "begin", picture_begin(p));
		tree_double(t, "end", picture_end(p));
		put_values(t, a->kind == AXIS_SPANS ? "from" : "at", a->from, a->nr);
		if (a->kind == AXIS_SPANS)
			put_values(t, "to", a->to, a->nr);
	}
	tree_end(t);
}

static void put_panel(struct tree *t, const struct picture *p, const struct picture_panel *panel)
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
		put_text(t, "name", s->name);
		tree_string(t, "mark", s->mark);
		put_values(t, "values", s->values, p->axis.nr);
		put_values(t, "low", s->low, p->axis.nr);
		put_values(t, "high", s->high, p->axis.nr);
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
	put_text(t, "title", p->title);
	put_text(t, "says", p->says);
	put_axis(t, p);
	tree_array(t, "panels");
	for (size_t i = 0; i < p->nr_panels; i++)
		put_panel(t, p, &p->panels[i]);
	tree_end(t);
	tree_array(t, "marks");
	for (size_t i = 0; i < p->nr_marks; i++) {
		tree_object(t, NULL);
		tree_double(t, "at", p->marks[i].at);
		put_text(t, "name", p->marks[i].name);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}
