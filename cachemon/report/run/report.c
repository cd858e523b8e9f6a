/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/report/run/findings.h"
#include "cachemon/report/run/data.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_detail.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/access/publish.h"
#include "cachemon/report/run/sections.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/progress.h"
#include "cachemon/base/quote.h"
#include "cachemon/base/terminal.h"
#include "cachemon/base/text_builder.h"

_Static_assert(REPORT_RUN_LAST == (int)MODEL_RUN_LAST, "one word for the last run");

static const struct {
	const char *name;
	enum report_format format;
} formats[] = {
	{"text", REPORT_TEXT},	       {"txt", REPORT_TEXT},  {"md", REPORT_MARKDOWN},
	{"markdown", REPORT_MARKDOWN}, {"html", REPORT_HTML}, {"htm", REPORT_HTML},
	{"json", REPORT_JSON},	       {"csv", REPORT_CSV},   {"yaml", REPORT_YAML},
	{"yml", REPORT_YAML},
};

int report_format_parse(const char *name, enum report_format *ret_format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(name, formats[i].name) != 0)
			continue;
		*ret_format = formats[i].format;
		return 0;
	}
	return -EINVAL;
}

int report_format_of_path(const char *path, enum report_format *ret_format)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');

	if (!dot || dot == base) {
		*ret_format = REPORT_TEXT;
		return 0;
	}
	return report_format_parse(dot + 1, ret_format);
}

#define THE_REPORT "the report"

/* A model and the analysis that it points to. */
struct loaded {
	struct model model;
	struct analysis analysis;
};

static void loaded_free(struct loaded *l)
{
	model_free(&l->model);
	analysis_free(&l->analysis);
}

static int write_tree(const struct report_options *o, const struct model *m, FILE *out)
{
	struct tree t;
	int ret = o->format == REPORT_YAML ? tree_yaml_begin(&t, out) : tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	if (o->advise)
		data_advise(&t, m);
	else
		data_report(&t, m);
	return tree_finish(&t);
}

bool report_format_of_pages(enum report_format format)
{
	return format != REPORT_CSV && format != REPORT_YAML && format < REPORT_FORMAT_NR;
}

struct doc report_doc(enum report_format format, FILE *out)
{
	switch (format) {
	case REPORT_MARKDOWN:
		return doc_markdown(out);
	case REPORT_HTML:
		return doc_html(out);
	default:
		return doc_text(out);
	}
}

static size_t count_lines(const char *from, const char *to)
{
	size_t ret = 0;

	for (; from < to; from++)
		ret += *from == '\n';
	return ret;
}

/* How many of the fixes leave the title in view above the prompt, and at least one. */
static size_t fixes_in_view(const char *text, long end, const long *fix_ends, size_t nr,
			    size_t end_lines, size_t rows)
{
	size_t lines = count_lines(text, text + end) + end_lines;

	for (; nr > 1 && rows && lines >= rows; nr--)
		lines -= count_lines(text + fix_ends[nr - 2], text + fix_ends[nr - 1]);
	return nr;
}

/* To be freed; NULL: no memory. */
static char *make_screen(const struct report_options *o, const struct model *m, FILE *out,
			 size_t rows, enum screen_detail detail, bool *ret_fits)
{
	long fix_ends[SECTIONS_FIXES] = {0}, end;
	struct text_builder b;
	struct doc d = doc_screen(text_begin(&b));
	size_t nr, shown;
	char *text;
	int ret;

	if (!d.out)
		return NULL;
	d.looks_like = out;
	d.step_ends = fix_ends;
	nr = sections_screen(&d, m, detail);
	end = doc_position(&d);
	shown = fixes_in_view(b.text, end, fix_ends, nr,
			      sections_screen_end_lines(detail, o->again_db, o->again ?: ""), rows);
	sections_screen_end(&d, m, detail, o->again_db, o->again ?: "", shown);
	ret = doc_end(&d);
	text = text_end(&b);
	if (ret) {
		free(text);
		return NULL;
	}
	if (text && shown < nr)
		memmove(text + fix_ends[shown - 1], text + fix_ends[nr - 1],
			strlen(text + fix_ends[nr - 1]) + 1);
	*ret_fits = text && (!rows || count_lines(text, text + strlen(text)) < rows);
	return text;
}

static int write_screen(const struct report_options *o, const struct model *m, FILE *out)
{
	size_t columns, rows = SIZE_MAX;
	bool fits = false;
	char *text = NULL;
	int ret;

	terminal_size(out, &columns, &rows);
	for (enum screen_detail detail = SCREEN_ALL; detail < SCREEN_NR && !fits; detail++) {
		free(text);
		text = make_screen(o, m, out, rows, detail, &fits);
		if (!text)
			return -ENOMEM;
	}
	ret = fputs(text, out) == EOF ? -EIO : 0;
	free(text);
	return ret;
}

const char *report_db_named(const char *db, bool default_db, enum report_format format)
{
	bool page = format == REPORT_HTML || format == REPORT_MARKDOWN;
	const char *slash = page ? strrchr(db, '/') : NULL;

	return default_db ? NULL : slash ? slash + 1 : db;
}

static int write_doc(const struct report_options *o, const struct model *m, FILE *out)
{
	struct doc d;

	if (o->brief)
		return write_screen(o, m, out);
	d = report_doc(o->format, out);
	d.looks_like = o->looks_like;
	if (o->advise)
		sections_advise(&d, m);
	else
		sections_report(&d, m);
	return doc_end(&d);
}

/* Files with at least this share of the bytes read. */
static const double IN_ORDER_SHARE = 0.9;
static const double PATTERN_SURE = 0.6;

static bool reads_in_order(const struct analysis *a, const struct model_job *job)
{
	double all = (double)job->counts.c[C_read_bytes], in_order = 0;

	for (size_t i = 0; i < job->nr_files; i++) {
		const struct analysis_pattern *p = analysis_pattern_of(a, false, job->files[i].id);

		if (p && p->confidence.value >= PATTERN_SURE &&
		    (!strcmp(p->name, "sequential") || !strcmp(p->name, "reread")))
			in_order += (double)job->files[i].counts.c[C_read_bytes];
	}
	return all > 0 && in_order >= IN_ORDER_SHARE * all;
}

/* The order of the reads of a large file is known only from its pattern. */
static int find_epochs_in_order(sqlite3 *db, struct loaded *l, struct errtext *err)
{
	struct model *m = &l->model;
	int ret = 0;

	for (size_t i = 0; !ret && i < m->nr_jobs; i++) {
		struct model_job *job = &m->jobs[i];

		if (job->detail && reads_in_order(&l->analysis, job))
			ret = model_detail_in_order(db, m, job, err);
	}
	return ret;
}

static int analyse_run(const struct report_options *options, sqlite3 *db, struct loaded *l,
		       struct errtext *err)
{
	const struct analysis_options how = {.dirs = options->rules, .progress = options->progress};
	int ret = analysis_run(db, l->model.run.id, &how, &l->analysis, err);

	if (ret < 0) {
		errtext_end_sentence(err);
		return ret;
	}
	l->model.analysis = &l->analysis;
	if (l->analysis.rules.nr_problems)
		progress_over(options->progress);
	for (size_t i = 0; options->on_problem && i < l->analysis.rules.nr_problems; i++)
		options->on_problem(options->on_problem_arg, l->analysis.rules.problems[i]);
	return find_epochs_in_order(db, l, err);
}

static int hand_heads(const struct report_options *options, const struct analysis *a,
		      struct errtext *err)
{
	_cleanup_free_ struct job_head *heads = NULL;

	if (!options->on_heads || !a->nr_jobs)
		return 0;
	heads = calloc(a->nr_jobs, sizeof(*heads));
	if (!heads)
		return model_no_memory(err);
	for (size_t i = 0; i < a->nr_jobs; i++) {
		const struct analysis_job *job = &a->jobs[i];
		const struct analysis_grade *grade = &job->grades[GRADE_OVERALL];
		const struct rule *first = job->nr_findings ? job->findings[0].rule : NULL;

		heads[i] = (struct job_head){
			.job_id = job->id,
			.answer = analysis_answers[analysis_answer(a, job)],
			.grade = grade->letter,
			.score = grade->score,
			.finding = first ? first->id : NULL,
			.title = first ? first->title : NULL,
		};
	}
	options->on_heads(options->on_heads_arg, heads, a->nr_jobs);
	return 0;
}

static int add_words(const struct report_options *options, struct loaded *l, struct errtext *err)
{
	int ret = options->word ? options->word(options->word_arg, &l->model, err) : 0;

	if (ret < 0)
		errtext_end_sentence(err);
	return ret;
}

/* Belongs to the model. */
enum wanted { WANTED_SHOWN, WANTED_WHOLE };

/* ret must not move, because its model points into it. Call loaded_free() after an error too. */
static int load_report(const struct report_options *options, enum wanted wanted,
		       struct loaded *ret_loaded, struct errtext *err)
{
	/* A model for other users of the report (a language model) is the same for every verb. */
	bool whole = wanted == WANTED_WHOLE || options->word;
	struct model_query query = {
		.run_id = options->run_id,
		.job = options->job,
		.files = whole && options->advise ? REPORT_FILES_DEFAULT : options->files,
		.totals_only = options->brief && !whole,
		.advice_only = options->advise && !whole,
	};
	sqlite3 *db = NULL;
	int ret;

	progress_at(options->progress, "reading the database", 0, 0);
	ret = options->image ? db_read_image(options->image, options->db, &db, err)
			     : db_read_open(options->db, &db, err);
	if (!ret)
		ret = model_load(db, &query, &ret_loaded->model, err);
	ret_loaded->model.db = report_db_named(options->db, options->default_db, options->format);
	if (!ret)
		ret = analyse_run(options, db, ret_loaded, err);
	sqlite3_close(db);
	if (!ret)
		ret = hand_heads(options, &ret_loaded->analysis, err);
	if (!ret)
		ret = add_words(options, ret_loaded, err);
	if (ret < 0 || wanted != WANTED_WHOLE)
		progress_over(options->progress);
	return ret;
}

/* A publication's content. */
struct written {
	const struct report_options *options;
	const struct model *model;
};

static int write_report(const void *content, FILE *out)
{
	const struct written *w = content;

	switch (w->options->format) {
	case REPORT_JSON:
	case REPORT_YAML:
		return write_tree(w->options, w->model, out);
	case REPORT_CSV:
		return w->options->advise ? csv_advise(out, w->model) : csv_report(out, w->model);
	default:
		return write_doc(w->options, w->model, out);
	}
}

int report_show(const struct report_options *options, FILE *out, struct errtext *err)
{
	struct loaded l = {0};
	const struct written content = {options, &l.model};
	const struct publication p = {THE_REPORT, &content, write_report};
	int ret = publish_not_over(p.name, options->db, options->out_path, err);

	if (!ret)
		ret = load_report(options, WANTED_SHOWN, &l, err);
	if (!ret)
		ret = publish(&p, options->out_path, out, err);
	loaded_free(&l);
	return ret;
}

int report_use(const struct report_options *options,
	       int (*use)(void *arg, const struct model *m, struct errtext *err), void *arg,
	       struct errtext *err)
{
	struct loaded l = {0};
	int ret = load_report(options, WANTED_WHOLE, &l, err);

	if (!ret) {
		ret = use(arg, &l.model, err);
		progress_over(options->progress);
		if (ret < 0)
			errtext_end_sentence(err);
	}
	loaded_free(&l);
	return ret;
}

char *report_again(const char *db, int64_t run_id, const char *job)
{
	_cleanup_free_ char *quoted_db = NULL;
	_cleanup_free_ char *quoted_job = NULL;
	struct text_builder b;
	FILE *out;

	if ((db && quote_word(db, &quoted_db)) || (job && quote_word(job, &quoted_job)))
		return NULL;
	out = text_begin(&b);
	if (out && db)
		fprintf(out, " --db %s", quoted_db);
	if (out && run_id != REPORT_RUN_LAST)
		fprintf(out, " --run %" PRId64, run_id);
	if (out && job)
		fprintf(out, " --job %s", quoted_job);
	return text_end(&b);
}
