/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare_model.h"
#include "report/compare_show.h"

/* Runs whose work differs by more did not do the same. */
#define WORK_APART 0.1

static void put_verdict(struct doc *d, const struct compare_result *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		d->failed = true;
		return;
	}
	compare_sentence(out, r);
	if (fclose(out) == 0)
		doc_para(d, "%s", text);
	else
		d->failed = true;
	free(text);
}

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
	if (a->len != b->len || !a->data || !b->data)
		return a->len == b->len;
	return !memcmp(a->data, b->data, a->len);
}

/* What of the two machines and measurements is not the same. */
static void put_unlike(struct doc *d, const struct compare_model *m)
{
	const struct model_run *a = &m->model[0].run;
	const struct model_run *b = &m->model[1].run;

	if (!same_bytes(&a->host, &b->host))
		doc_para(d, "The runs were on different hosts.");
	if (!same_bytes(&a->kernel, &b->kernel))
		doc_para(d, "The runs were on different kernels.");
	if (a->memory_bytes.value != b->memory_bytes.value)
		doc_para(d, "The machines have different memory: %s and %s.",
			 show_bytes(a->memory_bytes, false).s,
			 show_bytes(b->memory_bytes, false).s);
	if (!same_bytes(&a->level, &b->level))
		doc_para(d, "The runs were watched at different levels.");
	for (int i = 0; i < 2; i++) {
		const struct model_run *run = &m->model[i].run;

		if (run->exit_status.known && run->exit_status.value)
			doc_para(d,
				 "The command of run %" PRId64 " failed, with status %" PRId64 ".",
				 run->id, run->exit_status.value);
		if (!bytes_is(&run->state, "complete"))
			doc_para(d,
				 "Run %" PRId64 " did not end: it is compared as far as it is "
				 "recorded.",
				 run->id);
		if (run->intervals_lost.known && run->intervals_lost.value)
			doc_para(d, "%" PRId64 " intervals of run %" PRId64 " were lost.",
				 run->intervals_lost.value, run->id);
	}
}

static struct shown show_work(enum compare_work work, struct opt_i64 amount)
{
	struct shown ret = {0};

	if (work == WORK_TIME)
		return show_ns(amount);
	if (work != WORK_FAULTS)
		return show_bytes(amount, false);
	snprintf(ret.s, sizeof(ret.s), "%.20s major faults", show_count(amount, false).s);
	return ret;
}

static void put_work(struct doc *d, const struct compare_result *r)
{
	static const char *const what[WORK_NR] = {
		[WORK_READ] = "read from files",
		[WORK_RCHAR] = "read by its tasks from anything",
		[WORK_FAULTS] = "of its tasks: they tell only how far the job is",
		[WORK_TIME] = "of time: the bytes read do not measure what the job did",
	};
	double larger = fmax(r->work_a, r->work_b);
	struct opt_i64 work[2] = {{(int64_t)r->work_a, true}, {(int64_t)r->work_b, true}};

	doc_para(d, "Work: %s in A, %s in B, %s.", show_work(r->work, work[0]).s,
		 show_work(r->work, work[1]).s, what[r->work]);
	if (r->per == PER_JOB)
		doc_para(d, "Figures are of the whole job: both runs are taken to have done the "
			    "same to its end.");
	else if (r->work == WORK_TIME)
		doc_para(d, "If both did the same job to its end, --per job compares the time that "
			    "it took.");
	else if (fabs(r->work_a - r->work_b) > WORK_APART * larger)
		doc_para(d, "The runs did not do the same amount of work: totals do not compare, "
			    "figures per work do, as far as the work is of the same kind. If both "
			    "did the same job to its end and one of them just read less for it, "
			    "compare them with --per job.");
}

static const struct doc_column metric_columns[] = {
	{"METRIC", DOC_OWN_LINE}, {"A", DOC_RIGHT},	{"SPREAD", DOC_RIGHT}, {"B", DOC_RIGHT},
	{"SPREAD", DOC_RIGHT},	  {"B - A", DOC_RIGHT}, {"P", DOC_RIGHT},      {"SO", DOC_LEFT},
};

static const char *outcome_word(const struct compare_row *row)
{
	static const char *const words[OUTCOME_NR] = {
		[OUTCOME_UNKNOWN] = "-",     [OUTCOME_UNTESTED] = "not tested",
		[OUTCOME_NOISE] = "noise",   [OUTCOME_SMALL] = "real, small",
		[OUTCOME_BETTER] = "better", [OUTCOME_WORSE] = "WORSE",
	};

	if (row->outcome == OUTCOME_UNTESTED && row->metric->better == BETTER_NEITHER)
		return "-";
	return words[row->outcome];
}

static void put_metrics(struct doc *d, const struct compare_result *r)
{
	struct doc_table t = doc_table("p is adjusted for all metrics tested", metric_columns, 8);

	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct compare_row *row = &r->rows[i];
		const char *unit = compare_unit(r, row->metric);

		if (row->outcome == OUTCOME_UNKNOWN)
			continue;
		if (strcmp(unit, "ratio") == 0)
			doc_cell(&t, "%s", row->metric->label);
		else
			doc_cell(&t, "%s, %s", row->metric->label, unit);
		doc_cell(&t, "%s", compare_value(unit, row->a).s);
		doc_cell(&t, "%s", compare_span(unit, row->test.spread_a).s);
		doc_cell(&t, "%s", compare_value(unit, row->b).s);
		doc_cell(&t, "%s", compare_span(unit, row->test.spread_b).s);
		doc_cell(&t, "%s", compare_span(unit, row->test.difference).s);
		doc_cell(&t, "%s", isnan(row->p_adjusted) ? "-" : compare_p(row->p_adjusted).s + 2);
		doc_cell(&t, "%s", outcome_word(row));
	}
	doc_heading(d, 3, r->per == PER_JOB ? "Of the job" : "Per work");
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
		{"TOTAL", DOC_LEFT}, {"A", DOC_RIGHT}, {"B", DOC_RIGHT}, {"B - A", DOC_RIGHT}};
	struct doc_table t = doc_table("One value a run: not tested by themselves", columns, 4);
	const struct compare_total *total;

	for (size_t i = 0; (total = compare_total(i)); i++) {
		double v[2] = {0};

		if (!compare_sum(&job->run[0], &total->sum, &v[0]) ||
		    !compare_sum(&job->run[1], &total->sum, &v[1]))
			continue;
		doc_cell(&t, "%s", total->label);
		doc_cell(&t, "%s", show_total(total->unit, v[0]).s);
		doc_cell(&t, "%s", show_total(total->unit, v[1]).s);
		doc_cell(&t, "%s", show_total(total->unit, v[1] - v[0]).s);
	}
	doc_heading(d, 3, "In all");
	doc_put_table(d, &t);
}

static void put_runs(struct doc *d, const struct compare_model *m)
{
	static const struct doc_column columns[] = {
		{"", DOC_LEFT},	     {"RUN", DOC_RIGHT},  {"STARTED", DOC_LEFT},
		{"TOOK", DOC_RIGHT}, {"LEVEL", DOC_LEFT}, {"STATE", DOC_LEFT},
	};
	struct doc_table t = doc_table(NULL, columns, 6);

	for (int i = 0; i < 2; i++) {
		const struct model_run *run = &m->model[i].run;

		doc_cell(&t, "%s", i ? "B" : "A");
		doc_cell(&t, "%" PRId64, run->id);
		doc_cell(&t, "%s",
			 run->started_ns.known ? show_local(run->started_ns.value).s : "-");
		doc_cell(&t, "%s", show_ns(run->duration_ns).s);
		doc_cell_name(&t, &run->level, "-");
		doc_cell_name(&t, &run->state, "-");
	}
	doc_put_table(d, &t);
}

static void put_job(struct doc *d, const struct compare_job *job)
{
	const struct compare_result *r = &job->result;

	doc_heading(d, 2, "Job %.*s", (int)job->job[0]->name.len,
		    job->job[0]->name.data ? job->job[0]->name.data : "");
	if (!same_bytes(&job->job[0]->name, &job->job[1]->name))
		doc_para(d, "In B it is called %.*s.", (int)job->job[1]->name.len,
			 job->job[1]->name.data ? job->job[1]->name.data : "");
	put_verdict(d, r);
	put_work(d, r);
	put_metrics(d, r);
	put_reasons(d, r);
	put_totals(d, job);
}

void compare_sections(struct doc *d, const struct compare_model *m)
{
	doc_begin(d, "Run %" PRId64 " (A) and run %" PRId64 " (B)", m->model[0].run.id,
		  m->model[1].run.id);
	put_runs(d, m);
	put_unlike(d, m);
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_job(d, &m->jobs[i]);
	doc_heading(d, 2, "How it was judged");
	for (int lone = 0; lone < 2; lone++)
		for (size_t i = 0; i < m->nr_jobs; i++)
			if (m->jobs[i].result.lone == lone) {
				doc_para(d, "%s", compare_method(lone));
				break;
			}
	doc_para(
		d,
		"Spread is the standard deviation of the cells, each taken for the whole; of a run "
		"of few intervals the cells are larger. A difference is real when its "
		"adjusted p is at most %.2g, and matters from 5 %% of A on (1 point of a "
		"ratio; 1 %% of the time of a stall).",
		COMPARE_LEVEL);
}
