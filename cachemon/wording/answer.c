/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cachemon/report/run/data.h"
#include "cachemon/base/escape.h"
#include "cachemon/access/publish.h"

static const char THE_ANSWER[] = "the answer";

static void begin(struct doc *d, const struct model *m, const char *question)
{
	const struct model_job *job = model_main_job(m);
	char *name = job ? escape_inert_copy(job->name.data, job->name.len) : NULL;

	doc_begin(d, "cachemon ask: %s, run %" PRId64, name ? name : "no job", m->run.id);
	free(name);
	doc_para(d, "Question: %s", question);
}

static void put_end(struct doc *d, const struct wording *w)
{
	sections_wording_line(d, w);
	if (w->skipped)
		return;
	if (!w->nr_statements || !w->answered)
		doc_para(d, "The data does not say.%s",
			 w->nr_statements ? " What comes nearest is above." : "");
	sections_wording_end(d, w);
}

static void put_all(struct doc *d, const struct model *m, const struct wording *w)
{
	begin(d, m, w->question);
	for (size_t i = 0; i < w->nr_statements; i++)
		sections_wording_statement(d, w, &w->statements[i]);
	put_end(d, w);
}

/* Of a publication. */
struct content {
	const struct model *m;
	const struct wording *w;
	enum report_format format;
};

static int write_tree(const struct content *c, FILE *out)
{
	struct tree t;
	int ret = c->format == REPORT_YAML ? tree_yaml_begin(&t, out) : tree_json_begin(&t, out);
	const struct model_job *job = model_main_job(c->m);

	if (ret < 0)
		return ret;
	tree_object(&t, NULL);
	tree_int(&t, "schema", 1);
	tree_string(&t, "cachemon", CACHEMON_VERSION);
	tree_object(&t, "run");
	data_run_head(&t, &c->m->run);
	tree_end(&t);
	if (job)
		tree_bytes(&t, "job", job->name.data, job->name.len);
	else
		tree_null(&t, "job");
	data_wording(&t, c->w);
	tree_end(&t);
	return tree_finish(&t);
}

static int write_answer(const void *content, FILE *out)
{
	const struct content *c = content;
	struct doc d;

	if (c->format == REPORT_JSON || c->format == REPORT_YAML)
		return write_tree(c, out);
	d = c->format == REPORT_HTML	   ? doc_html(out)
	    : c->format == REPORT_MARKDOWN ? doc_markdown(out)
					   : doc_text(out);
	put_all(&d, c->m, c->w);
	return doc_end(&d);
}

int answer_write(const struct model *m, const struct wording *w, const struct answer_place *to,
		 struct errtext *err)
{
	const struct content content = {m, w, to->format};
	const struct publication p = {THE_ANSWER, &content, write_answer};

	if (to->path)
		return publish_write(&p, to->path, err);
	return publish_print(&p, stdout, err);
}

static void statement(void *arg, const struct wording *w, const struct wording_statement *st)
{
	struct answer_stream *s = arg;

	progress_over(s->how->progress);
	sections_wording_statement(&s->doc, w, st);
	fflush(s->doc.out);
	s->nr++;
}

static void again(void *arg)
{
	struct answer_stream *s = arg;

	if (s->nr)
		doc_para(&s->doc, "The answer broke off here; it is asked for again.");
	s->nr = 0;
}

void answer_stream_begin(struct answer_stream *s, const struct model *m, struct word_how *how)
{
	*s = (struct answer_stream){.begun = true, .m = m, .how = how, .doc = doc_text(stdout)};
	begin(&s->doc, m, how->question);
	fflush(stdout);
	how->on_statement = statement;
	how->on_again = again;
	how->on_arg = s;
}

int answer_stream_end(struct answer_stream *s, const struct wording *w, struct errtext *err)
{
	/* What was shown came from the same checks; a server that did not stream gave nothing yet.
	 */
	for (size_t i = 0; !s->nr && i < w->nr_statements; i++)
		sections_wording_statement(&s->doc, w, &w->statements[i]);
	put_end(&s->doc, w);
	return publish_written(THE_ANSWER, doc_end(&s->doc), stdout, err);
}
