/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/report/compare/compare_model.h"
#include "cachemon/report/compare/compare_show.h"

static void put_label(struct doc_table *t, const struct compare_row *row, const char *unit)
{
	if (strcmp(unit, "ratio") == 0)
		doc_cell(t, "%s", row->metric->label);
	else
		doc_cell(t, "%s, %s", row->metric->label, unit);
}

static void put_metrics(struct doc *d, const struct compare_result *r)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_OWN_LINE},  {"BEFORE", DOC_RIGHT},	 {"AFTER", DOC_RIGHT},
		{"DIFFERENCE", DOC_RIGHT}, {"95 % INTERVAL", DOC_RIGHT}, {"MARK", DOC_LEFT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];
		const char *unit = compare_unit(r, row->metric);
		double low, high;

		if (row->outcome == OUTCOME_UNKNOWN)
			continue;
		put_label(&t, row, unit);
		doc_cell_shown(&t, compare_value(unit, row->a));
		doc_cell_shown(&t, compare_value(unit, row->b));
		doc_cell_shown(&t, compare_difference(unit, row->test.difference));
		if (compare_interval(row, &low, &high))
			doc_cell_shown(&t, compare_range(unit, low, high));
		else
			doc_cell(&t, "-");
		doc_cell(&t, "%s", compare_mark_text(row));
	}
	doc_put_table(d, &t);
}

static void put_known(struct doc_table *t, bool known, struct shown v)
{
	doc_cell(t, "%s", known ? v.s : "-");
}

/* A p for a table column of several. */
static struct shown show_p(double p)
{
	struct shown s = compare_p(p), ret = {0};
	size_t skip = strspn(s.s, "p =");

	snprintf(ret.s, sizeof(ret.s), "%.60s", s.s + skip);
	return ret;
}

static bool tested(const struct compare_row *row)
{
	return row->outcome != OUTCOME_UNKNOWN && row->test.why == PAIRED_TESTED;
}

static void put_spreads(struct doc *d, const struct compare_result *r)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_OWN_LINE},     {"CHANGE", DOC_RIGHT},
		{"SPREAD BEFORE", DOC_RIGHT}, {"SPREAD AFTER", DOC_RIGHT},
		{"MATTERS FROM", DOC_RIGHT},  {"DETECTABLE", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE(
		"Detectable: smallest difference found in 4 of 5 such comparisons", columns);

	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];
		const char *unit = compare_unit(r, row->metric);
		const struct paired *p = &row->test;

		if (row->outcome == OUTCOME_UNKNOWN)
			continue;
		put_label(&t, row, unit);
		doc_cell_shown(&t, compare_change(row));
		doc_cell_shown(&t, compare_span(unit, p->spread_a));
		doc_cell_shown(&t, compare_span(unit, p->spread_b));
		put_known(&t, row->metric->better != BETTER_NEITHER,
			  compare_span(unit, row->relevant));
		put_known(&t, !isnan(row->p_adjusted) && isfinite(p->detectable),
			  compare_span(unit, p->detectable));
	}
	doc_put_table(d, &t);
}

/* The source of the marks. */
static void put_tests(struct doc *d, const struct compare_result *r)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_OWN_LINE},  {"ERROR", DOC_RIGHT}, {"T", DOC_RIGHT},
		{"DEGREES", DOC_RIGHT},	   {"CELLS", DOC_RIGHT}, {"P", DOC_RIGHT},
		{"ADJUSTED P", DOC_RIGHT},
	};
	struct doc_table t =
		DOC_TABLE("Adjusted p accounts for the number of figures tested. Cells is how "
			  "many independent values the cells count as",
			  columns);

	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];
		const char *unit = compare_unit(r, row->metric);
		const struct paired *p = &row->test;
		bool judged = !isnan(row->p_adjusted);

		if (!tested(row))
			continue;
		put_label(&t, row, unit);
		doc_cell_shown(&t, compare_span(unit, p->error));
		put_known(&t, judged, show_double((struct opt_f64){p->t, true}, 2));
		doc_cell_shown(&t, show_double((struct opt_f64){p->degrees, true}, 1));
		doc_cell_shown(&t, show_double((struct opt_f64){p->effective_cells, true}, 1));
		put_known(&t, judged, show_p(p->p));
		put_known(&t, judged, show_p(row->p_adjusted));
	}
	doc_put_table(d, &t);
}

static void put_values(struct doc_table *t, const struct compare_result *r,
		       const struct compare_row *row, size_t from, size_t nr)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	for (size_t i = 0; out && i < nr; i++)
		fprintf(out, "%s%s", i ? ", " : "",
			compare_value(compare_unit(r, row->metric), row->values[from + i]).s);
	doc_cell_text(t, text_end(&b));
}

/* For several runs per side. */
static void put_ranks(struct doc *d, const struct compare_result *r)
{
	static const struct doc_column columns[] = {
		{"FIGURE", DOC_OWN_LINE},  {"U", DOC_RIGHT},	  {"P", DOC_RIGHT},
		{"ADJUSTED P", DOC_RIGHT}, {"BEFORE", DOC_RIGHT}, {"AFTER", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE("Values of the runs, in the order given", columns);

	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];
		bool judged = !isnan(row->p_adjusted);

		if (!row->values)
			continue;
		put_label(&t, row, compare_unit(r, row->metric));
		doc_cell_shown(&t, show_double((struct opt_f64){row->u, true}, 1));
		put_known(&t, judged, show_p(row->test.p));
		put_known(&t, judged, show_p(row->p_adjusted));
		put_values(&t, r, row, 0, r->runs_a);
		put_values(&t, r, row, r->runs_a, r->runs_b);
	}
	doc_put_table(d, &t);
}

/* Rows that could not be judged, by reason. */
static void put_reasons(struct doc *d, const struct compare_result *r)
{
	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];
		const char *why = compare_why(row);
		bool said = false;
		char names[512] = "";

		if (!why || (row->outcome != OUTCOME_UNKNOWN && row->test.why == PAIRED_TESTED))
			continue;
		for (size_t k = 0; k < i && !said; k++)
			said = compare_why(&r->rows[k]) == why;
		for (size_t k = i; k < r->nr_rows && !said; k++) {
			size_t n = strlen(names);

			if (compare_why(&r->rows[k]) == why)
				snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
					 r->rows[k].metric->label);
		}
		if (!said)
			doc_para(d, "Not judged: %s; %s.", names, why);
	}
}

static struct shown show_total(const char *unit, double v)
{
	struct opt_i64 n = {.value = (int64_t)fabs(v), .known = fabs(v) < 9e18};
	struct shown s;
	struct shown ret = {0};

	if (strcmp(unit, "ns") == 0)
		s = show_ns(n);
	else if (strcmp(unit, "bytes") == 0)
		s = show_bytes(n, false);
	else
		s = show_count(n, false);
	snprintf(ret.s, sizeof(ret.s), "%s%.40s", v < 0 ? "-" : "", s.s);
	return ret;
}

static void put_totals(struct doc *d, const struct compare_job *job)
{
	static const struct doc_column columns[] = {
		{"TOTAL", DOC_LEFT},
		{"BEFORE", DOC_RIGHT},
		{"AFTER", DOC_RIGHT},
		{"DIFFERENCE", DOC_RIGHT},
	};
	struct doc_table t =
		DOC_TABLE("Totals (not tested, because there is one value per run)", columns);
	const struct compare_total *total;

	for (size_t i = 0; (total = compare_total(i)); i++) {
		double v[2] = {0};

		if (!compare_sum(&job->run[0], &total->sum, &v[0]) ||
		    !compare_sum(&job->run[1], &total->sum, &v[1]))
			continue;
		doc_cell(&t, "%s", total->label);
		doc_cell_shown(&t, show_total(total->unit, v[0]));
		doc_cell_shown(&t, show_total(total->unit, v[1]));
		doc_cell(&t, "%s%s", v[1] > v[0] ? "+" : "",
			 show_total(total->unit, v[1] - v[0]).s);
	}
	doc_put_table(d, &t);
}

void compare_figures(struct doc *d, const struct compare_job *job)
{
	const struct compare_result *r = &job->result;

	put_metrics(d, r);
	doc_para(d, "● real: chance alone does not explain the difference. ○ noise: chance may "
		    "explain the difference. - not judged: no test was possible. Intervals do not "
		    "account for the number of figures tested; marks do.");
	put_reasons(d, r);
	doc_fold_begin(d, "How each figure was tested");
	put_spreads(d, r);
	if (r->test == TEST_RANKS)
		put_ranks(d, r);
	else
		put_tests(d, r);
	doc_fold_end(d);
	put_totals(d, job);
}
