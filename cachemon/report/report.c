/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advisor/analysis.h"
#include "report/advice.h"
#include "report/data.h"
#include "report/db.h"
#include "report/model_load.h"
#include "report/output.h"
#include "report/prose.h"
#include "report/sections.h"
#include "util/cleanup.h"
#include "util/invoker.h"
#include "util/quote.h"

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

static int write_doc(const struct report_options *o, const struct model *m, struct doc d)
{
	if (o->advise)
		sections_advise(&d, m);
	else
		sections_report(&d, m);
	return doc_end(&d);
}

static int write_model(const struct report_options *o, const struct model *m, FILE *out)
{
	switch (o->format) {
	case REPORT_TEXT:
		return write_doc(o, m, doc_text(out));
	case REPORT_MARKDOWN:
		return write_doc(o, m, doc_markdown(out));
	case REPORT_HTML:
		return write_doc(o, m, doc_html(out));
	case REPORT_JSON:
	case REPORT_YAML:
		return write_tree(o, m, out);
	case REPORT_CSV:
		return o->advise ? csv_advise(out, m) : csv_report(out, m);
	default:
		return -EINVAL;
	}
}

static int analyse(const struct report_options *options, sqlite3 *db, struct loaded *l, char *err,
		   size_t errlen)
{
	const struct analysis_options how = {.dirs = options->rules};
	struct errtext text = {0};
	int ret = analysis_run(db, l->model.run.id, &how, &l->analysis, &text);

	if (ret < 0) {
		snprintf(err, errlen, "%s.", text.text);
		return ret;
	}
	l->model.analysis = &l->analysis;
	for (size_t i = 0; options->on_problem && i < l->analysis.rules.nr_problems; i++)
		options->on_problem(options->on_problem_arg, l->analysis.rules.problems[i]);
	return 0;
}

/* ret stays where it is: its model points into it. */
static int load(const struct report_options *options, bool totals_only, struct loaded *ret_loaded,
		char *err, size_t errlen)
{
	struct model_query query = {
		.run_id = options->run_id,
		.job = options->job,
		.files = options->files,
		.totals_only = totals_only,
		.advice_only = options->advise,
	};
	sqlite3 *db = NULL;
	int ret = report_db_open(options->db, &db, err, errlen);

	if (!ret)
		ret = model_load(db, &query, &ret_loaded->model, err, errlen);
	if (!ret && !totals_only)
		ret = analyse(options, db, ret_loaded, err, errlen);
	sqlite3_close(db);
	if (ret < 0)
		loaded_free(ret_loaded);
	return ret;
}

/* What writing to out came to, with a line in err. */
static int written(int ret, FILE *out, char *err, size_t errlen)
{
	/* A stream knows that it failed, not why: what it still holds fails for the same reason. */
	if ((!ret || ret == -EIO) && fflush(out) != 0)
		ret = -errno;
	if (ret < 0) {
		snprintf(err, errlen, "cannot write the report: %s.", strerror(-ret));
		output_forget(out);
	}
	return ret;
}

int report_print(const struct report_options *options, FILE *out, char *err, size_t errlen)
{
	struct loaded l = {0};
	int ret = load(options, false, &l, err, errlen);

	if (ret < 0)
		return ret;
	ret = written(write_model(options, &l.model, out), out, err, errlen);
	loaded_free(&l);
	return ret;
}

static int write_model_file(const struct report_options *options, const struct model *m,
			    const char *path, char *err, size_t errlen)
{
	struct output o;
	int ret = output_open(path, &o, err, errlen);

	if (ret < 0)
		return ret;
	ret = written(write_model(options, m, o.out), o.out, err, errlen);
	if (!ret)
		return output_commit(&o, err, errlen);
	output_abort(&o);
	return ret;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa;
	struct stat sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* The files of a report are the invoking user's, and only where that user may write. */
static int enter_as(const struct invoker *as, struct invoker_fs *saved, char *err, size_t errlen)
{
	int ret = as ? invoker_fs_enter(as, saved) : 0;

	if (ret < 0)
		snprintf(err, errlen, "cannot write files as the invoking user: %s.",
			 strerror(-ret));
	return ret;
}

int report_place(const char *out_path, const struct invoker *as, char *err, size_t errlen)
{
	struct invoker_fs saved = {0};
	struct output o;
	struct stat st;
	int ret = enter_as(as, &saved, err, errlen);

	if (ret < 0)
		return ret;
	/* A pipe may have no reader yet. */
	if (stat(out_path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		ret = output_open(out_path, &o, err, errlen);
		if (!ret)
			output_abort(&o);
	}
	if (as && saved.entered)
		invoker_fs_leave(&saved);
	return ret;
}

int report_write(const struct report_options *options, const char *out_path,
		 const struct invoker *as, char *err, size_t errlen)
{
	struct invoker_fs saved = {0};
	struct loaded l = {0};
	int ret = 0;

	if (same_file(options->db, out_path)) {
		snprintf(err, errlen,
			 "the report would replace its own database; name another "
			 "file to write.");
		return -EINVAL;
	}
	ret = load(options, false, &l, err, errlen);
	if (ret < 0)
		return ret;
	ret = enter_as(as, &saved, err, errlen);
	if (!ret)
		ret = write_model_file(options, &l.model, out_path, err, errlen);
	if (as && saved.entered)
		invoker_fs_leave(&saved);
	loaded_free(&l);
	return ret;
}

int report_summary(const char *db, int64_t run_id, FILE *out, char *err, size_t errlen)
{
	struct report_options options = {.db = db, .run_id = run_id};
	_cleanup_free_ char *command = NULL;
	_cleanup_free_ char *quoted = NULL;
	struct loaded l = {0};
	int ret = load(&options, true, &l, err, errlen);

	if (ret < 0)
		return ret;
	if (quote_word(db, &quoted) == 0 &&
	    asprintf(&command, "cachemon report --db %s --run %" PRId64, quoted, l.model.run.id) <
		    0)
		command = NULL;
	prose_summary(out, &l.model, command);
	ret = written(ferror(out) ? -EIO : 0, out, err, errlen);
	loaded_free(&l);
	return ret;
}
