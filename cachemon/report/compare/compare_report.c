/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_report.h"

#include "cachemon/report/compare/compare_model.h"
#include "cachemon/db/db_read.h"
#include "cachemon/access/publish.h"
#include "cachemon/base/progress.h"

/* A publication's content. */
struct comparison {
	const struct compare_options *options;
	struct compare_model model;
};

static int load_comparison(struct comparison *c, struct errtext *err)
{
	sqlite3 *db = NULL;
	int ret;

	progress_at(c->options->progress, "reading the database", 0, 0);
	ret = db_read_open(c->options->db, &db, err);
	if (!ret)
		ret = compare_model_load(db, c->options, &c->model, err);
	sqlite3_close(db);
	c->model.db = report_db_named(c->options->db, c->options->default_db, c->options->format);
	progress_over(c->options->progress);
	return ret;
}

static int write_comparison(const void *content, FILE *out)
{
	const struct comparison *c = content;
	struct doc d;
	struct tree t;
	int ret = 0;

	if (c->options->format == REPORT_JSON) {
		ret = tree_json_begin(&t, out);
		if (ret < 0)
			return ret;
		compare_data(&t, &c->model);
		return tree_finish(&t);
	}
	d = report_doc(c->options->format, out);
	d.looks_like = c->options->looks_like;
	compare_sections(&d, &c->model, c->options->format == REPORT_HTML);
	return doc_end(&d);
}

int compare_show(const struct compare_options *options, FILE *out, struct errtext *err)
{
	struct comparison c = {.options = options};
	const struct publication p = {"the comparison", &c, write_comparison};
	int ret = publish_not_over(p.name, options->db, options->out_path, err);

	if (!ret)
		ret = load_comparison(&c, err);
	if (!ret)
		ret = publish(&p, options->out_path, out, err);
	compare_model_free(&c.model);
	return ret;
}
