/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_report.h"

#include "cachemon/report/compare/compare_model.h"
#include "cachemon/db/db_read.h"
#include "cachemon/access/publish.h"
#include "cachemon/base/progress.h"

#define THE_COMPARISON "the comparison"

bool compare_has_format(enum report_format format)
{
	return format == REPORT_TEXT || format == REPORT_MARKDOWN || format == REPORT_HTML ||
	       format == REPORT_JSON;
}

/* A publication's content. */
struct written {
	const struct compare_model *model;
	enum report_format format;
};

static int write_comparison(const void *content, FILE *out)
{
	const struct written *w = content;
	const struct compare_model *m = w->model;
	enum report_format format = w->format;
	struct doc d;
	struct tree t;
	int ret = 0;

	if (format == REPORT_JSON) {
		ret = tree_json_begin(&t, out);
		if (ret < 0)
			return ret;
		compare_data(&t, m);
		return tree_finish(&t);
	}
	if (format == REPORT_MARKDOWN)
		d = doc_markdown(out);
	else if (format == REPORT_HTML)
		d = doc_html(out);
	else
		d = doc_text(out);
	compare_sections(&d, m);
	return doc_end(&d);
}

static int load(const struct compare_options *options, struct compare_model *ret_model,
		struct errtext *err)
{
	sqlite3 *db = NULL;
	int ret;

	*ret_model = (struct compare_model){0};
	progress_at(options->progress, "reading the database", 0, 0);
	ret = db_read_open(options->db, &db, err);
	if (!ret)
		ret = compare_model_load(db, options, ret_model, err);
	sqlite3_close(db);
	progress_over(options->progress);
	return ret;
}

int compare_print(const struct compare_options *options, FILE *out, struct errtext *err)
{
	struct compare_model m;
	const struct written content = {&m, options->format};
	const struct publication p = {THE_COMPARISON, &content, write_comparison};
	int ret = load(options, &m, err);

	if (!ret)
		ret = publish_print(&p, out, err);
	compare_model_free(&m);
	return ret;
}

int compare_write(const struct compare_options *options, const char *out_path, struct errtext *err)
{
	struct compare_model m;
	const struct written content = {&m, options->format};
	const struct publication p = {THE_COMPARISON, &content, write_comparison};
	int ret = publish_not_over(p.name, options->db, out_path, err);

	if (ret < 0)
		return ret;
	ret = load(options, &m, err);
	if (!ret)
		ret = publish_write(&p, out_path, err);
	compare_model_free(&m);
	return ret;
}
