/* SPDX-License-Identifier: BSD-2-Clause */
/* The first part of a comparison: the few most important figures, as a picture and as a table. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"
#include "cachemon/report/run/pictures.h"

static const char *const shown_keys[] = {"time_per_work", "stall_per_work", "hit_ratio",
					 "misses_per_work"};

enum { NR_SHOWN = sizeof(shown_keys) / sizeof(shown_keys[0]), NR_DRAWN = 2 };

/* NULL: unknown. */
static const struct compare_row *row_of(const struct compare_result *r, const char *key)
{
	for (size_t i = 0; i < r->nr_rows; i++)
		if (!strcmp(r->rows[i].metric->key, key))
			return r->rows[i].outcome == OUTCOME_UNKNOWN ? NULL : &r->rows[i];
	return NULL;
}

void compare_answer(struct doc *d, const struct compare_job *job)
{
	static const struct doc_column columns[] = {
		{"", DOC_LEFT},	       {"BEFORE", DOC_RIGHT}, {"AFTER", DOC_RIGHT},
		{"CHANGE", DOC_RIGHT}, {"RESULT", DOC_LEFT},
	};
	const struct compare_result *r = &job->result;
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (int i = 0; i < NR_SHOWN; i++) {
		const struct compare_row *row = row_of(r, shown_keys[i]);
		const char *unit;

		if (!row)
			continue;
		unit = compare_unit(r, row->metric);
		if (strcmp(unit, "ratio") == 0)
			doc_cell(&t, "%s", row->metric->label);
		else
			doc_cell(&t, "%s, %s", row->metric->label, unit);
		doc_cell_shown(&t, compare_value(unit, row->a));
		doc_cell_shown(&t, compare_value(unit, row->b));
		doc_cell_shown(&t, compare_change(row));
		doc_cell(&t, "%s", compare_mark_text(row));
	}
	doc_put_table(d, &t);
}

/* One bar per side, or one per run. */
static void fill_panel(struct arena *a, const struct compare_result *r,
		       const struct compare_row *row, struct picture_panel *ret)
{
	size_t nr = r->runs_a + r->runs_b;
	struct picture_series *series = arena_alloc(a, sizeof(*series));
	double *values = arena_alloc(a, nr * sizeof(*values));
	const char *unit = compare_unit(r, row->metric);
	bool seconds = strcmp(unit, "s") == 0;
	const char *name =
		seconds ? row->metric->label : arena_print(a, "%s, %s", row->metric->label, unit);

	for (size_t i = 0; values && i < nr; i++)
		values[i] = row->values ? row->values[i] : i ? row->b : row->a;
	if (series)
		*series = (struct picture_series){.name = name, .tone = TONE_A, .values = values};
	*ret = (struct picture_panel){
		.name = name,
		.unit = seconds ? UNIT_SECONDS : UNIT_NUMBER,
		.kind = PANEL_BARS,
		.series = series,
		.nr_series = name && series && values,
	};
}

static const char *const *names_of(struct arena *a, const struct compare_model *m)
{
	size_t nr[2] = {m->side[0].nr, m->side[1].nr};
	const char **names = arena_alloc(a, (nr[0] + nr[1]) * sizeof(*names));

	for (size_t i = 0; names && i < nr[0] + nr[1]; i++) {
		bool after = i >= nr[0];
		const struct model *of = &m->side[after].runs[after ? i - nr[0] : i];

		names[i] =
			arena_print(a, "%s, run %" PRId64, after ? "after" : "before", of->run.id);
	}
	return names;
}

void compare_answer_make(struct arena *a, const struct compare_model *m, size_t at,
			 struct picture *ret)
{
	const struct compare_result *r = &m->jobs[at].result;
	struct picture_panel *panels = arena_alloc(a, NR_DRAWN * sizeof(*panels));
	size_t nr = 0;

	*ret = (struct picture){0};
	for (int i = 0; i < NR_DRAWN && panels; i++) {
		const struct compare_row *row = row_of(r, shown_keys[i]);

		if (row && (row->a > 0 || row->b > 0))
			fill_panel(a, r, row, &panels[nr++]);
	}
	if (!nr)
		return;
	*ret = (struct picture){
		.id = compare_id(a, "before-after", at),
		.title = "Before and after",
		.says = "Lower is better.",
		.axis = {.name = "run",
			 .kind = AXIS_NAMES,
			 .names = names_of(a, m),
			 .nr = m->side[0].nr + m->side[1].nr},
		.panels = panels,
		.nr_panels = nr,
	};
	for (size_t i = 0; i < nr; i++)
		if (!panels[i].nr_series || !ret->axis.names)
			*ret = (struct picture){0};
}
