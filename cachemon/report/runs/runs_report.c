/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/runs/runs_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/report/run/pictures.h"
#include "cachemon/report/compare/compare_pictures.h"
#include "cachemon/db/db_read.h"
#include "cachemon/base/escape.h"
#include "cachemon/access/publish.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/report/runs/runs_model.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/progress.h"

/* A publication's content. */
struct list {
	const struct runs_options *options;
	struct runs_model model;
};

static int load_list(struct list *l, struct errtext *err)
{
	sqlite3 *db = NULL;
	int ret = db_read_open(l->options->db, &db, err);

	if (!ret)
		ret = runs_model_load(db, l->options->db, l->options->since_ns, &l->model, err);
	sqlite3_close(db);
	l->model.name = report_db_named(l->options->db, false, l->options->format);
	l->model.default_db = l->options->default_db;
	return ret;
}

static int write_list(const void *content, FILE *out)
{
	const struct list *l = content;
	enum report_format format = l->options->format;
	struct doc d;
	struct tree t;
	int ret;

	if (format == REPORT_JSON) {
		ret = tree_json_begin(&t, out);
		if (ret < 0)
			return ret;
		runs_data(&t, &l->model);
		return tree_finish(&t);
	}
	d = report_doc(format, out);
	/* On a terminal, the user wants only the list. */
	runs_sections(&d, &l->model, format == REPORT_TEXT);
	return doc_end(&d);
}

static int make_directory(const char *dir, struct errtext *err)
{
	char name[400];
	int ret;

	if (mkdir(dir, 0777) == 0 || errno == EEXIST)
		return 0;
	ret = -errno;
	escape_inert_to(name, sizeof(name), dir);
	return errtext_set(err, ret, "cannot make the directory %s: %s.", name, strerror(-ret));
}

/* A name of letters and digits only, whatever the job's name is. */
static int write_report(const struct runs_options *o, const char *dir, struct runs_model *m,
			struct runs_job *j, struct errtext *err)
{
	struct report_options report = {.db = o->db,
					.default_db = o->default_db,
					.run_id = j->run->id,
					.job = j->job->name.data,
					.format = REPORT_HTML,
					.files = REPORT_FILES_DEFAULT,
					.rules = o->rules};
	const char *name = arena_print(&m->arena, "run-%" PRId64 "-job-%" PRId64 ".html",
				       j->run->id, j->job->slot);
	_cleanup_free_ char *path = NULL;
	int ret;

	if (!name || asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return model_no_memory(err);
	}
	report.out_path = path;
	ret = report_show(&report, NULL, err);
	if (!ret)
		j->report = name;
	return ret;
}

/* The index at which the newest runs' jobs begin. */
static size_t first_of_newest(const struct runs_model *m)
{
	int64_t run = -1;
	size_t nr_runs = 0;
	size_t i = m->nr_jobs;

	for (; i > 0; i--) {
		nr_runs += m->jobs[i - 1].run->id != run;
		run = m->jobs[i - 1].run->id;
		if (nr_runs > RUNS_REPORTS_MAX)
			break;
	}
	return i;
}

/* Newest first, in case it is interrupted. */
static int write_reports(const struct runs_options *o, const char *dir, struct runs_model *m,
			 struct errtext *err)
{
	size_t first = first_of_newest(m);
	int ret = 0;

	for (size_t i = m->nr_jobs; i-- > first && !ret;) {
		progress_at(o->progress, "reports", m->nr_jobs - 1 - i, m->nr_jobs - first);
		ret = write_report(o, dir, m, &m->jobs[i], err);
	}
	progress_over(o->progress);
	return ret;
}

int runs_show(const struct runs_options *options, FILE *out, struct errtext *err)
{
	struct list l = {.options = options};
	const struct publication p = {"the list", &l, write_list};
	int ret = publish_not_over(p.name, options->db, options->out_path, err);

	if (!ret)
		ret = load_list(&l, err);
	progress_over(options->progress);
	if (!ret)
		ret = publish(&p, options->out_path, out, err);
	runs_model_free(&l.model);
	return ret;
}

int runs_write_reports(const struct runs_options *options, const char *dir, struct errtext *err)
{
	struct list l = {.options = options};
	const struct publication p = {"the list", &l, write_list};
	_cleanup_free_ char *path = NULL;
	int ret = load_list(&l, err);

	if (!ret)
		ret = make_directory(dir, err);
	if (!ret)
		ret = write_reports(options, dir, &l.model, err);
	if (!ret && asprintf(&path, "%s/index.html", dir) < 0) {
		path = NULL;
		ret = model_no_memory(err);
	}
	if (!ret)
		ret = publish_not_over(p.name, options->db, path, err);
	if (!ret)
		ret = publish_write(&p, path, err);
	runs_model_free(&l.model);
	return ret;
}
