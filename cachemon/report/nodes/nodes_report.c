/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/nodes/nodes_report.h"

#include <errno.h>

#include "cachemon/access/publish.h"
#include "cachemon/base/progress.h"
#include "cachemon/db/db_read.h"
#include "cachemon/render/doc.h"
#include "cachemon/render/tree.h"
#include "cachemon/report/nodes/nodes_model.h"

/* A publication's content. */
struct content {
	const struct report_options *options;
	struct nodes_model model;
};

static int write_tree(const struct content *c, FILE *out)
{
	struct tree t;
	int ret = c->options->format == REPORT_YAML ? tree_yaml_begin(&t, out)
						    : tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	nodes_data(&t, &c->model);
	return tree_finish(&t);
}

static int write_report(const void *content, FILE *out)
{
	const struct content *c = content;
	const struct report_options *o = c->options;
	struct doc d;

	if (o->format == REPORT_JSON || o->format == REPORT_YAML)
		return write_tree(c, out);
	d = o->brief ? doc_screen(out) : report_doc(o->format, out);
	d.looks_like = o->looks_like;
	nodes_sections(&d, &c->model, o->brief);
	return doc_end(&d);
}

/* Some things can be made only from one run. */
static int check_options(const struct report_options *o, struct errtext *err)
{
	const char *what = o->format == REPORT_CSV ? "CSV is" : o->word ? "--llm is" : NULL;

	return what ? errtext_set(err, -EINVAL,
				  "%s for one run, and this job ran on several nodes: choose one "
				  "of its runs with --run (see 'cachemon runs').",
				  what)
		    : 0;
}

static int show_nodes(sqlite3 *db, struct content *c, FILE *out, struct errtext *err)
{
	const struct report_options *o = c->options;
	const struct publication p = {"the report", c, write_report};
	int ret = check_options(o, err);

	if (!ret)
		ret = nodes_model_load(db, o->job, o->files, &c->model, err);
	c->model.db = report_db_named(o->db, o->default_db, o->format);
	progress_over(o->progress);
	if (!ret)
		ret = publish(&p, o->out_path, out, err);
	nodes_model_free(&c->model);
	return ret ? ret : 1;
}

int nodes_report(const struct report_options *options, FILE *out, int64_t *ret_run,
		 struct errtext *err)
{
	struct content c = {.options = options};
	sqlite3 *db = NULL;
	size_t nodes = 0;
	int ret = publish_not_over("the report", options->db, options->out_path, err);

	progress_at(options->progress, "reading the database", 0, 0);
	if (!ret)
		ret = db_read_open(options->db, &db, err);
	if (!ret)
		ret = nodes_find(db, options->job, &nodes, ret_run, err);
	if (!ret && nodes > 1)
		ret = show_nodes(db, &c, out, err);
	sqlite3_close(db);
	return ret;
}
