/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/access/publish.h"
#include "cachemon/store/store_wording.h"
#include "cachemon/base/cleanup.h"

static int write_json(const void *content, FILE *out)
{
	struct tree t;
	int ret = tree_json_begin(&t, out);

	if (ret < 0)
		return ret;
	tree_object(&t, NULL);
	data_wording(&t, content);
	tree_end(&t);
	return tree_finish(&t);
}

static char *json_of(const struct wording *w)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int ret;

	if (!out)
		return NULL;
	ret = write_json(w, out);
	if (fclose(out) != 0 || ret < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int in_database(const struct wording *w, const struct keep_place *place, const char *json,
		       struct errtext *err)
{
	const struct store_config config = {
		.path = place->db,
	};
	const struct store_wording row = {
		.run_id = place->run_id,
		.job_id = w->job_id,
		.asked_ns = w->asked_ns.value,
		.attempts = w->attempts.value,
		.duration_ns = w->duration_ns.value,
		.kept = (int64_t)w->nr_statements,
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
		.answer = json,
	};

	return store_put_wording(&config, &row, err);
}

static int beside(const struct wording *w, const struct keep_place *place, const char *why,
		  struct errtext *ret_said)
{
	const struct publication p = {"a model's words", w, write_json};
	_cleanup_free_ char *path = NULL;
	struct errtext err = {""};
	int ret;

	if (!place->report) {
		errtext_set(ret_said, 1,
			    "a model's words were not kept: %s; -o FILE keeps them in "
			    "FILE.wording.json",
			    why);
		return 1;
	}
	if (asprintf(&path, "%s.wording.json", place->report) < 0)
		return errtext_set(ret_said, -ENOMEM, "not enough memory to keep a model's words");
	ret = publish_write(&p, path, &err);
	if (ret)
		errtext_set(ret_said, ret, "a model's words were not kept: %s; %s", why, err.text);
	else
		errtext_set(ret_said, 1, "a model's words are kept in %s: %s", path, why);
	return 1;
}

int wording_keep(const struct wording *w, const struct keep_place *place, struct errtext *ret_said)
{
	_cleanup_free_ char *json = NULL;
	struct errtext err = {""};

	if (!w->attempts.known || !w->attempts.value || !w->prompt_sha256)
		return 0;
	json = json_of(w);
	if (!json)
		return errtext_set(ret_said, -ENOMEM, "not enough memory to keep a model's words");
	/* Where nobody answered there are no words to be missed. */
	return in_database(w, place, json, &err) && !w->skipped
		       ? beside(w, place, err.text, ret_said)
		       : 0;
}
