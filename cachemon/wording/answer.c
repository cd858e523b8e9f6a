/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cachemon/access/publish.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/report/run/data.h"
#include "cachemon/store/store_wording.h"

/* The content of a publication. */
struct content {
	const struct model *m; /* NULL: only the wording */
	const struct wording *w;
	enum report_format format;
};

static void put_document(struct doc *d, const struct model *m, const struct wording *w)
{
	const struct model_job *job = model_main_job(m);
	_cleanup_free_ char *name = job ? escape_inert_copy(job->name.data, job->name.len) : NULL;

	doc_begin(d, "cachemon ask: %s, run %" PRId64, name ? name : "no job", m->run.id);
	doc_para(d, "Question: %s", w->question);
	for (size_t i = 0; i < w->checked.nr_statements; i++)
		sections_wording_statement(d, &w->checked.statements[i]);
	sections_wording_line(d, w);
	if (w->skipped)
		return;
	if (!w->checked.nr_statements || !w->checked.answered)
		doc_para(d, "The data does not say.%s",
			 w->checked.nr_statements ? " The closest evidence is above." : "");
	sections_wording_end(d, w);
}

static void put_run(struct tree *t, const struct model *m)
{
	const struct model_job *job = model_main_job(m);

	tree_int(t, "schema", 1);
	tree_string(t, "cachemon", CACHEMON_VERSION);
	tree_object(t, "run");
	data_run_head(t, &m->run);
	tree_end(t);
	tree_bytes(t, "job", job ? job->name.data : NULL, job ? job->name.len : 0);
}

static int write_tree(const void *content, FILE *out)
{
	const struct content *c = content;
	struct tree t;
	int ret = c->format == REPORT_YAML ? tree_yaml_begin(&t, out) : tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	tree_object(&t, NULL);
	if (c->m)
		put_run(&t, c->m);
	data_wording(&t, c->w);
	tree_end(&t);
	return tree_finish(&t);
}

static int write_answer(const void *content, FILE *out)
{
	const struct content *c = content;
	struct doc d = report_doc(c->format, out);

	if (c->format == REPORT_JSON || c->format == REPORT_YAML)
		return write_tree(c, out);
	put_document(&d, c->m, c->w);
	return doc_end(&d);
}

int answer_write(const struct model *m, const struct wording *w, const struct report_options *to,
		 struct errtext *err)
{
	const struct content content = {m, w, to->format};
	const struct publication p = {"the answer", &content, write_answer};

	return publish(&p, to->out_path, stdout, err);
}

static int keep_in_database(const struct wording *w, const char *db, int64_t run_id,
			    const struct content *content, struct errtext *err)
{
	const struct store_config config = {.path = db};
	struct store_wording row = {
		.run_id = run_id,
		.job_id = w->job_id,
		.asked_ns = w->asked_ns.value,
		.attempts = w->attempts.value,
		.duration_ns = w->duration_ns.value,
		.kept = (int64_t)w->checked.nr_statements,
		.dropped = (int64_t)wording_dropped(w),
		.question = w->question,
		.prompt_sha256 = w->prompt_sha256,
		.api = w->api,
		.host = w->host ? w->host : "",
		.model = w->model ? w->model : "",
		.outcome = w->outcome,
		.reason = w->skipped,
		.tokens_in = w->tokens_in,
		.tokens_out = w->tokens_out,
		.redacted = w->redacted,
	};
	struct text_builder b;
	FILE *out = text_begin(&b);
	int ret = out ? write_tree(content, out) : -ENOMEM;
	_cleanup_free_ char *json = text_end(&b);

	row.answer = json;
	if (ret < 0 || !json)
		return errtext_set(err, -ENOMEM, "not enough memory");
	return store_put_wording(&config, &row, err);
}

int answer_keep(const struct wording *w, const struct report_options *place, int64_t run_id,
		struct errtext *ret_said)
{
	const struct content content = {NULL, w, REPORT_JSON};
	const struct publication p = {"a model's words", &content, write_tree};
	_cleanup_free_ char *path = NULL;
	struct errtext why = {""}, err = {""};

	if (!w->attempts.known || !w->attempts.value || !w->prompt_sha256)
		return 0;
	/* If there was no answer, none is lost. */
	if (!keep_in_database(w, place->db, run_id, &content, &why) || w->skipped)
		return 0;
	if (!place->out_path)
		return errtext_set(ret_said, 1,
				   "the model's answer was not saved: %s; use -o FILE to save it "
				   "in FILE.wording.json",
				   why.text);
	if (text_print(&path, "%s.wording.json", place->out_path))
		return errtext_set(ret_said, -ENOMEM,
				   "not enough memory to save the model's answer");
	if (publish_write(&p, path, &err))
		return errtext_set(ret_said, 1, "the model's answer was not saved: %s; %s",
				   why.text, err.text);
	return errtext_set(ret_said, 1, "the model's answer was saved in %s: %s", path, why.text);
}
