/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/access/publish.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/pager.h"
#include "cachemon/base/progress.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/db/db_read.h"
#include "cachemon/model/model_load.h"
#include "cachemon/report/run/data.h"
#include "cachemon/report/whatif/whatif_cache.h"
#include "cachemon/report/whatif/whatif_readahead_show.h"

/* How to compute the answer for a job, and how to show it. */
struct whatif_kind {
	const char *name;
	const char *title;
	size_t answer_size;
	/* Fills in zeroed memory of that size. 0, also if there is no answer but a reason; or
	 * -errno. */
	int (*load)(sqlite3 *db, int64_t job_id, void *answer, struct errtext *err);
	void (*free)(void *answer);
	/* Members of the job's object. */
	void (*json)(struct tree *t, const struct model_run *run, const void *answer);
	/* The job's part of the document, which is plain text. */
	void (*text)(struct doc *d, const struct model_run *run, const struct model_job *job,
		     const void *answer);
};

static int load_curve(sqlite3 *db, int64_t job_id, void *answer, struct errtext *err)
{
	return job_curve_load(db, job_id, answer, err);
}

static void free_curve(void *answer)
{
	job_curve_free(answer);
}

static void put_curve_json(struct tree *t, const struct model_run *run, const void *answer)
{
	const struct job_curve *c = answer;
	double present = c->facts.counted.present_pages;
	_cleanup_free_ char *text = whatif_cache_answer(c);

	tree_string(t, "answer", text);
	tree_opt_int(t, "present_bytes",
		     (struct opt_i64){.known = present >= 0,
				      .value = (int64_t)(present * c->facts.page_size_bytes)});
	whatif_cache_json(t, c);
}

static void put_curve_text(struct doc *d, const struct model_run *run, const struct model_job *job,
			   const void *answer)
{
	whatif_cache_text(d, job, answer);
}

static int load_readahead(sqlite3 *db, int64_t job_id, void *answer, struct errtext *err)
{
	return whatif_readahead_load(db, job_id, answer, err);
}

static void free_readahead(void *answer)
{
	whatif_readahead_free(answer);
}

static void put_readahead_json(struct tree *t, const struct model_run *run, const void *answer)
{
	whatif_readahead_json(t, answer, run->page_size_bytes.value);
}

static void put_readahead_text(struct doc *d, const struct model_run *run,
			       const struct model_job *job, const void *answer)
{
	whatif_readahead_text(d, job, answer, run->page_size_bytes.value);
}

static const struct whatif_kind kinds[] = {
	{
		.name = "cache",
		.title = "What if the cache had another size",
		.answer_size = sizeof(struct job_curve),
		.load = load_curve,
		.free = free_curve,
		.json = put_curve_json,
		.text = put_curve_text,
	},
	{
		.name = "readahead",
		.title = "What if readahead had other settings",
		.answer_size = sizeof(struct whatif_readahead),
		.load = load_readahead,
		.free = free_readahead,
		.json = put_readahead_json,
		.text = put_readahead_text,
	},
};

enum { NR_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct options {
	struct report_args args;
	const struct whatif_kind *kind;
};

static void parse_kind(struct argp_state *state, const char *arg, struct options *o)
{
	for (int i = 0; i < NR_KINDS; i++)
		if (strcmp(arg, kinds[i].name) == 0)
			o->kind = &kinds[i];
	if (!o->kind)
		usage_error(state, "unknown question '%s' (choose cache or readahead)", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key == ARGP_KEY_ARG && !o->kind) {
		parse_kind(state, arg, o);
		return 0;
	}
	if (key == ARGP_KEY_END && !o->kind)
		usage_error(state, "whatif needs a topic: cache or readahead");
	return report_args_option(&o->args, key, arg, state);
}

/* The question, the run, and the answer for each of its jobs except "(others)". */
struct answers {
	const struct whatif_kind *kind;
	bool json;
	const struct progress_sink *progress;
	struct model model;
	char *of_job; /* kind->answer_size bytes each */
	size_t nr_loaded;
	FILE *looks_like; /* as in a document (doc.h) */
};

static void *answer_of(const struct answers *a, size_t job)
{
	return a->of_job + job * a->kind->answer_size;
}

static void answers_free(struct answers *a)
{
	for (size_t i = 0; i < a->nr_loaded; i++)
		if (!model_others(&a->model.jobs[i]))
			a->kind->free(answer_of(a, i));
	free(a->of_job);
	model_free(&a->model);
}

static int load_answers(sqlite3 *db, struct answers *a, struct errtext *err)
{
	const struct model *m = &a->model;

	a->of_job = calloc(m->nr_jobs + 1, a->kind->answer_size);
	if (!a->of_job)
		return errtext_set(err, -ENOMEM, "out of memory.");
	for (; a->nr_loaded < m->nr_jobs; a->nr_loaded++) {
		const struct model_job *job = &m->jobs[a->nr_loaded];
		struct errtext why = {0};
		int ret = 0;

		progress_at(a->progress, a->kind->title, a->nr_loaded, m->nr_jobs);
		if (!model_others(job))
			ret = a->kind->load(db, job->id, answer_of(a, a->nr_loaded), &why);
		if (ret < 0)
			return errtext_set(err, ret, "%.500s.", why.text);
	}
	return 0;
}

static int load_asked(const struct options *o, struct answers *ret, struct errtext *err)
{
	const struct report_options *asked = &o->args.report;
	const struct model_query query = {
		.run_id = asked->run_id, .job = asked->job, .totals_only = true};
	sqlite3 *db = NULL;
	int r;

	progress_at(ret->progress, "reading the database", 0, 0);
	r = db_read_open(asked->db, &db, err);
	if (!r)
		r = model_load(db, &query, &ret->model, err);
	if (!r)
		r = load_answers(db, ret, err);
	sqlite3_close(db);
	return r;
}

static int write_text(const struct answers *a, FILE *out)
{
	const struct model *m = &a->model;
	struct doc d = doc_text(out);

	d.looks_like = a->looks_like;
	doc_begin(&d, "%s: run %" PRId64, a->kind->title, m->run.id);
	for (size_t i = 0; i < m->nr_jobs; i++)
		if (!model_others(&m->jobs[i]))
			a->kind->text(&d, &m->run, &m->jobs[i], answer_of(a, i));
	return doc_end(&d);
}

static int write_json(const struct answers *a, FILE *out)
{
	const struct model *m = &a->model;
	struct tree t;
	int ret = tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	tree_object(&t, NULL);
	tree_int(&t, "schema", 1);
	tree_string(&t, "cachemon", CACHEMON_VERSION);
	tree_string(&t, "whatif", a->kind->name);
	tree_object(&t, "run");
	data_run_head(&t, &m->run);
	tree_end(&t);
	tree_array(&t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++) {
		const struct model_job *job = &m->jobs[i];

		if (model_others(job))
			continue;
		tree_object(&t, NULL);
		tree_name(&t, "name", &job->name);
		tree_name(&t, "selector", &job->selector);
		a->kind->json(&t, &m->run, answer_of(a, i));
		tree_end(&t);
	}
	tree_end(&t);
	tree_end(&t);
	return tree_finish(&t);
}

static int write_answers(const void *content, FILE *out)
{
	const struct answers *a = content;

	return a->json ? write_json(a, out) : write_text(a, out);
}

static struct publication publication_of(const struct answers *a)
{
	return (struct publication){"the answer", a, write_answers};
}

static int put_answers(void *arg, FILE *out, FILE *looks_like, struct errtext *err)
{
	struct answers *a = arg;
	const struct publication p = publication_of(a);

	a->looks_like = looks_like;
	return publish_print(&p, out, err);
}

static int show_answers(void *arg, const struct invoker *as, struct errtext *err)
{
	const struct options *o = arg;
	struct answers answers = {
		.kind = o->kind,
		.json = o->args.report.format == REPORT_JSON,
		.progress = o->args.report.progress,
	};
	const struct publication p = publication_of(&answers);
	int ret = publish_not_over(p.name, o->args.report.db, o->args.report.out_path, err);

	if (!ret)
		ret = load_asked(o, &answers, err);
	progress_over(answers.progress);
	if (!ret && !answers.json && !o->args.report.out_path)
		ret = pager_put(put_answers, &answers, err);
	else if (!ret)
		ret = publish(&p, o->args.report.out_path, stdout, err);
	answers_free(&answers);
	return ret;
}

static bool has_format(enum report_format format)
{
	return format == REPORT_TEXT || format == REPORT_JSON;
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,	  REPORT_ARGS_RUN,    REPORT_ARGS_JOB, REPORT_ARGS_FORMAT("text|json"),
	REPORT_ARGS_JSON, REPORT_ARGS_OUTPUT, OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon whatif cache", "Plot the hit ratio of the last run against the cache size"},
	{"cachemon whatif cache --run 2 --json", "Print the curve of run 2 for other programs"},
	{"cachemon whatif readahead", "Show what other windows and advice would have read"},
	{0},
};

const struct verb_spec whatif_spec = {
	.name = "whatif",
	.help = "predict a run with another cache size or readahead setting",
	.operands = "cache|readahead",
	.operand = VALUE_CHOICE,
	.examples = examples,
	.options = options,
	.notes = "Needs no privileges, only the database. 'cache' plots the hit ratio against the "
		 "cache size, from the references that 'watch --level full' records. 'readahead' "
		 "replays the accesses of the traced files with other values of read_ahead_kb and "
		 "other advice. Text longer than the screen is shown in $PAGER.",
	.run = cmd_whatif,
};

int cmd_whatif(int argc, char **argv)
{
	static const struct report_args_formats formats = {
		.has = has_format,
		.names = "text, json",
		.endings = ".txt or .json",
	};
	struct options o = {
		.args = {.report = {.run_id = REPORT_RUN_LAST}, .formats = &formats},
	};

	usage_parse(&whatif_spec, parse_option, argc, argv, 0, &o);
	return report_args_run(&o.args, show_answers, &o);
}
