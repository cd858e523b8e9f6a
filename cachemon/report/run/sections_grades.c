/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/findings.h"

#include <stdlib.h>

#include "cachemon/base/human.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"

enum { DIRECTORIES_MAX = 10 };

/* Share of the requested pages, or of the added pages. */
static const double SHARE_MIN = 0.01;

static void put_ceiling(struct doc *d, const struct analysis_job *a)
{
	const struct ceiling *c = &a->ceiling;

	if (!c->overall.known)
		return;
	doc_para(d,
		 "An accelerator fed by this job could be busy at most %s of the time%s%s%s. "
		 "MLPerf Storage requires 90 %% or 70 %%, depending on the workload; this is %s%s.",
		 show_ratio(c->overall, false).s, c->after_first_epoch.known ? ", " : "",
		 c->after_first_epoch.known ? show_ratio(c->after_first_epoch, false).s : "",
		 c->after_first_epoch.known ? " after the first epoch" : "", c->line,
		 a->several ? "; its tasks ran concurrently, so this is their mean" : "");
}

/* "B 0.84" */
static void put_letter(struct doc_table *t, const struct analysis_grade *g)
{
	if (g->letter)
		doc_cell(t, "%s %s", g->letter, show_double(g->score, 2).s);
	else
		doc_cell(t, "-");
}

/* The formulas of the existing ones among the four grades. */
static void put_how(struct doc_table *t, const struct analysis_grade grades[GRADE_NR])
{
	struct text_builder b;
	bool any = false;
	FILE *out = text_begin(&b);

	for (int i = GRADE_HITS; out && i < GRADE_NR; i++) {
		if (!grades[i].letter)
			continue;
		fprintf(out, "%s%s: %s", any ? "; " : "", grade_titles[i], grades[i].formula);
		any = true;
	}
	doc_cell_text(t, text_end(&b));
}

static bool is_least_part(struct opt_i64 part, struct opt_i64 whole)
{
	return part.known && whole.known && (double)part.value < SHARE_MIN * (double)whole.value;
}

/* Libraries of the interpreter and the like, which are too small to mention. */
static bool small_part(const struct counts *c, const struct counts *job)
{
	struct derived d, of_job;

	counts_derive(c, 0, &d);
	counts_derive(job, 0, &of_job);
	return is_least_part(counts_get(c, C_lookups), counts_get(job, C_lookups)) &&
	       is_least_part(opt_add(d.prefetched_pages, counts_get(c, C_demand_pages)),
			     opt_add(of_job.prefetched_pages, counts_get(job, C_demand_pages)));
}

/* Those with the most misses, in order. */
void sections_directory_grades(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"DIRECTORY", DOC_OWN_LINE}, {"OVERALL", DOC_LEFT},  {"REUSE", DOC_LEFT},
		{"PREFETCH", DOC_LEFT},	     {"EVICTION", DOC_LEFT}, {"STALL", DOC_LEFT},
		{"HOW", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE("Grades use the counters of a directory's files. Stall is "
				       "the share of the job's time spent waiting for them",
				       columns);
	size_t nr = 0;
	size_t nr_left = 0;

	for (size_t i = 0; i < job->nr_directories; i++) {
		const struct analysis_directory *g =
			analysis_directory_of(m->analysis, job->directories[i].id);

		if (!g || !g->grades[GRADE_OVERALL].letter)
			continue;
		if (nr == DIRECTORIES_MAX ||
		    small_part(&job->directories[i].counts, &job->counts)) {
			nr_left++;
			continue;
		}
		nr++;
		doc_cell_name(&t, &job->directories[i].path, "[files without a name]");
		for (int k = 0; k < GRADE_NR; k++)
			put_letter(&t, &g->grades[k]);
		put_how(&t, g->grades);
	}
	doc_put_table(d, &t);
	if (nr_left)
		doc_para(d, "The JSON report has %s more director%s.",
			 human_exact((int64_t)nr_left).text, nr_left == 1 ? "y" : "ies");
}

const char *findings_answer_text(enum analysis_answer answer)
{
	switch (answer) {
	case ANSWER_NOTHING:
		return "Nothing worth changing";
	case ANSWER_UNEXPLAINED:
		return "No known fix: no rule explains the low grade";
	case ANSWER_TOO_LITTLE:
		return "Too little was read to judge";
	case ANSWER_UNKNOWN:
		return "No fix found, but some rules could not be judged";
	default:
		return "";
	}
}

const char *findings_answer(const struct model *m, const struct analysis_job *a)
{
	return findings_answer_text(analysis_answer(m->analysis, a));
}

/* "Grade E, 0.43: the job spent 97.5 % of its time waiting for reads." */
void sections_judgement(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	const struct analysis_grade *g = a ? &a->grades[GRADE_OVERALL] : NULL;
	char grade[96] = "No grade";
	char wait[128] = "";

	if (!a)
		return;
	if (g->letter)
		snprintf(grade, sizeof(grade), "Grade %s, %s", g->letter,
			 show_double(g->score, 2).s);
	if (a->ceiling.overall.known)
		snprintf(wait, sizeof(wait), ": the job spent %s of its time waiting for reads",
			 show_ratio((struct opt_f64){1 - a->ceiling.overall.value, true}, false).s);
	if (a->nr_fixes)
		doc_para(d, "%s%s.", grade, wait);
	else
		doc_para(d, "%s%s. %s.", grade, wait, findings_answer(m, a));
}

void sections_grades(struct doc *d, const struct model *m, const struct model_job *job)
{
	const struct analysis_job *a = findings_of(m, job);
	struct doc_grade grades[GRADE_NR];
	struct shown scores[GRADE_NR];

	if (!a)
		return;
	for (int i = 0; i < GRADE_NR; i++) {
		const struct analysis_grade *g = &a->grades[i];

		scores[i] = show_double(g->score, 2);
		grades[i] = (struct doc_grade){grade_titles[i], g->letter, scores[i].s,
					       g->formula ? g->formula : "-"};
	}
	doc_put_grades(d, grades, GRADE_NR);
	put_ceiling(d, a);
}
