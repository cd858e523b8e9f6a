/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/data.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/wording.h"

static void put_evidence(struct tree *t, const struct pack_evidence *e)
{
	tree_object(t, NULL);
	tree_string(t, "key", e->key);
	data_evidence(t, &(struct evidence){.metric = e->metric,
					    .unit = e->unit,
					    .scope = e->scope,
					    .value = e->value,
					    .is_text = e->is_text});
	tree_text(t, "shown", e->shown);
	tree_string(t, "quality", *e->quality ? e->quality : NULL);
	tree_end(t);
}

static void put_statement(struct tree *t, const struct llm_statement *s)
{
	tree_object(t, NULL);
	tree_string(t, "about", s->about ? s->about->id : NULL);
	tree_text(t, "subject", s->about ? s->about->subject : NULL);
	tree_text(t, "text", s->text);
	tree_array(t, "evidence");
	for (size_t i = 0; i < s->nr_evidence; i++)
		tree_string(t, NULL, s->evidence[i]->key);
	tree_end(t);
	tree_array(t, "notes");
	for (size_t i = 0; i < s->nr_notes; i++)
		tree_text(t, NULL, s->notes[i]->id);
	tree_end(t);
	tree_text(t, "action", s->action ? s->action->text : NULL);
	tree_string(t, "action_note", s->action ? s->action->note_id : NULL);
	tree_string(t, "confidence", llm_confidence_names[s->confidence]);
	tree_end(t);
}

static void put_said(struct tree *t, const struct wording *w)
{
	tree_array(t, "statements");
	for (size_t i = 0; i < w->checked.nr_statements; i++)
		put_statement(t, &w->checked.statements[i]);
	tree_end(t);
	tree_array(t, "evidence");
	for (size_t i = 0; i < w->nr_evidence; i++)
		put_evidence(t, w->evidence[i]);
	tree_end(t);
	tree_array(t, "ranking");
	for (size_t i = 0; i < w->checked.nr_ranking; i++)
		tree_string(t, NULL, w->checked.ranking[i]->id);
	tree_end(t);
	tree_int(t, "kept", (int64_t)w->checked.nr_statements);
	tree_object(t, "dropped");
	for (int i = 0; i < DROP_NR; i++)
		tree_int(t, drop_reasons[i].name, (int64_t)w->checked.dropped[i]);
	tree_end(t);
}

void data_wording(struct tree *t, const struct wording *w)
{
	if (!tree_opt_object(t, "wording", w))
		return;
	tree_string(t, "outcome", w->outcome);
	tree_text(t, "reason", w->skipped);
	tree_text(t, "question", w->question);
	if (w->question && !w->skipped)
		tree_bool(t, "answered", w->checked.answered);
	else
		tree_null(t, "answered");
	tree_string(t, "api", w->api);
	tree_text(t, "host", w->host);
	tree_text(t, "model", w->model);
	tree_string(t, "prompt_sha256", w->prompt_sha256);
	tree_string(t, "asked", w->asked_ns.known ? show_rfc3339(w->asked_ns.value).s : NULL);
	tree_opt_int(t, "duration_ns", w->duration_ns);
	tree_opt_int(t, "tokens_in", w->tokens_in);
	tree_opt_int(t, "tokens_out", w->tokens_out);
	tree_opt_int(t, "attempts", w->attempts);
	tree_bool(t, "redacted", w->redacted);
	tree_text(t, "warning", w->warning);
	put_said(t, w);
	tree_end(t);
}
