/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/word.h"

#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "advisor/llm/http/wire.h"
#include "advisor/llm/prompt.h"
#include "advisor/llm/tokens.h"
#include "advisor/rules/embedded.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/wording/pack_model.h"

/* A question in progress. */
struct word {
	struct pack_source from; /* without a job there is nothing to explain */
	const struct word_how *how;
	struct pack pack;
	struct prompt prompt;
	struct llm_prompt sent; /* the same, for the network */
	char *body;		/* of the first request, byte for byte */
	unsigned int row;	/* row of the table of bounds for the pack */
};

/* Names of the querying user, who may not be the user of the run. */
static void name_user(struct redact *r, const struct invoker *as)
{
	if (as && as->name && as->uid)
		redact_add(r, NAME_USER, as->name, strlen(as->name));
	if (as && as->home && as->uid && strcmp(as->home, "/") != 0)
		redact_add(r, NAME_DIRECTORY, as->home, strlen(as->home));
}

/* Public texts are not secret: a job may be called "read". */
static int publish_ours(struct redact *r, struct errtext *err)
{
	static bool (*const embedded[])(size_t, const char **, const char **) = {
		embedded_note, embedded_shared, embedded_rule};
	const struct pack empty = {.nr_facts = 0};
	struct prompt p;
	const char *id, *text;
	int ret = prompt_make(&empty, &p, err);

	if (ret)
		return ret;
	redact_public(r, p.system);
	redact_public(r, p.user);
	redact_public(r, p.schema);
	prompt_free(&p);
	for (size_t k = 0; k < sizeof(embedded) / sizeof(embedded[0]); k++)
		for (size_t i = 0; embedded[k](i, &id, &text); i++)
			redact_public(r, text);
	return 0;
}

static int word_begin(struct word *w, const struct model *m, const struct word_how *how,
		      struct errtext *err)
{
	int e;

	*w = (struct word){
		.from = {.model = m,
			 .job = m->analysis ? model_main_job(m) : NULL,
			 .names = redact_new(how->redact),
			 .question = how->question},
		.how = how,
	};
	if (!w->from.names)
		return errtext_set(err, -ENOMEM, "not enough memory for the names in the report");
	pack_names(w->from.names, m);
	name_user(w->from.names, how->as);
	e = publish_ours(w->from.names, err);
	if (e || !w->from.job || how->unusable)
		return e;
	return kb_open(&m->analysis->rules, how->notes_dir, how->on_problem, NULL, &w->from.kb,
		       err);
}

static void word_end(struct word *w)
{
	free(w->body);
	prompt_free(&w->prompt);
	pack_free(&w->pack);
	kb_free(w->from.kb);
	redact_free(w->from.names);
}

/* The largest prompt within the budget, from this row on, and its request. -EPERM, -E2BIG with a
 * text: nothing may be sent. */
static int prepare(struct word *w, unsigned int row, struct errtext *err)
{
	int e;

	do {
		w->row = row++;
		prompt_free(&w->prompt);
		pack_free(&w->pack);
		e = pack_model(&w->from, w->row, &w->pack, err);
		if (!e)
			e = prompt_make(&w->pack, &w->prompt, err);
		if (e)
			return e;
	} while (w->prompt.tokens > LLM_TOKENS_IN && row < PACK_ROWS);
	if (w->prompt.tokens > LLM_TOKENS_IN)
		return errtext_set(err, -E2BIG,
				   "the prompt is too long (about %zu tokens, the limit is %d), so "
				   "nothing was sent",
				   w->prompt.tokens, LLM_TOKENS_IN);
	w->pack.instructions = w->prompt.system;
	w->pack.canary = PROMPT_CANARY;
	if (redact_left(w->from.names, w->prompt.user, strlen(w->prompt.user)) ||
	    redact_left(w->from.names, w->prompt.schema, strlen(w->prompt.schema)))
		return errtext_set(err, -EPERM,
				   "the prompt still contains a name, so nothing was sent; please "
				   "report this");
	w->sent = (struct llm_prompt){w->prompt.system, w->prompt.user, "wording", w->prompt.schema,
				      LLM_TOKENS_OUT};
	free(TAKE_PTR(w->body));
	e = wire_request(w->how->config, &w->sent, false, &w->body);
	return e ? errtext_set(err, e, "no memory for the request") : 0;
}

int word_body(const struct model *m, const struct word_how *how, char **ret_body,
	      size_t *ret_tokens, struct errtext *err)
{
	struct word w;
	int e = word_begin(&w, m, how, err);

	if (!e && !w.from.job)
		e = errtext_set(err, -ENOENT,
				"the run has no watched job, so there is nothing to explain");
	if (!e)
		e = prepare(&w, 0, err);
	if (!e) {
		*ret_tokens = w.prompt.tokens;
		*ret_body = TAKE_PTR(w.body);
	}
	word_end(&w);
	return e;
}

/* NULL if there is no text. */
static const char *keep_text(struct arena *a, const char *s)
{
	return s && *s ? arena_text(a, s) : NULL;
}

/* With names instead of aliases. */
static const char *named(const struct word *w, struct arena *a, const char *s)
{
	return redact_restore(w->from.names, a, s) ?: "";
}

/* "F1: directory" is about a finding, whose id the reader knows. */
static const char *scope_of(const struct word *w, struct arena *a, const char *scope)
{
	size_t len = strcspn(scope, ":"), i = 0;
	const struct pack_finding *f = w->pack.findings;

	while (i < w->pack.nr_findings && (strlen(f[i].key) != len || memcmp(f[i].key, scope, len)))
		i++;
	if (i < w->pack.nr_findings)
		scope = arena_print(a, "%s%s", f[i].id, scope + len) ?: "";
	return named(w, a, scope);
}

/* Cited evidence, each once in the report's list. */
static void take_cited(const struct word *w, const struct llm_statement *s, struct wording *ret)
{
	struct arena *a = &ret->arena;

	for (size_t i = 0; i < s->nr_evidence; i++) {
		struct pack_evidence *e = &w->pack.evidence[s->evidence[i] - w->pack.evidence];
		size_t at = 0;

		while (at < ret->nr_evidence && ret->evidence[at] != e)
			at++;
		if (at < ret->nr_evidence)
			continue;
		ret->evidence[ret->nr_evidence++] = e;
		e->metric = named(w, a, e->metric);
		e->value = e->is_text && e->value ? named(w, a, e->value) : e->value;
		e->scope = scope_of(w, a, e->scope);
		e->shown = named(w, a, e->shown);
	}
}

/* Statements by subject: the job first, then findings by rank. */
static void take_checked(struct word *w, struct wording *ret)
{
	struct llm_checked *c = &ret->checked;
	struct arena *a = &ret->arena;
	struct llm_statement *all = c->statements;
	size_t nr = 0;

	c->statements = arena_alloc(a, (c->nr_statements + 1) * sizeof(*all));
	ret->evidence = arena_alloc(a, (w->pack.nr_evidence + 1) * sizeof(void *));
	for (size_t rank = 0; rank <= c->nr_ranking && !a->failed; rank++)
		for (size_t i = 0; i < c->nr_statements; i++) {
			if (all[i].about != (rank ? c->ranking[rank - 1] : NULL))
				continue;
			take_cited(w, &all[i], ret);
			c->statements[nr] = all[i];
			c->statements[nr++].text = named(w, a, all[i].text);
		}
	for (size_t i = 0; i < w->pack.nr_findings; i++)
		w->pack.findings[i].subject = named(w, a, w->pack.findings[i].subject);
	/* The prompt had only the beginning of the action. */
	for (size_t i = 0; i < w->pack.nr_actions; i++) {
		struct pack_action *x = &w->pack.actions[i];
		const struct note *n = rule_set_note(&w->from.model->analysis->rules, x->note_id);

		x->text = n ? keep_text(a, n->action) : named(w, a, x->text);
	}
	ret->pack = w->pack;
	ret->pack.instructions = NULL; /* the prompt's, which is freed */
	w->pack = (struct pack){0};
}

/* A server's limit may be lower than ours: tries once more, with less data. */
static int ask_model(struct word *w, struct wording *ret, struct llm_answer *answer,
		     struct errtext *err)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];
	bool again = false;

	do {
		int e = prepare(w, again ? w->row + 2 : 0, err);

		if (e)
			return e;
		llm_answer_free(answer);
		SHA256Data((const uint8_t *)w->body, strlen(w->body), hex);
		ret->prompt_sha256 = keep_text(&ret->arena, hex);
		progress_at(w->how->progress, "waiting for the model", 0, 0);
		llm_ask(w->how->config, &w->sent, answer);
		again = !again && answer->too_long && w->row + 2 < PACK_ROWS;
	} while (again);
	return 0;
}

/* The model, the time and the cost. */
static void take_answer(const struct word *w, const struct llm_answer *a, struct wording *ret)
{
	ret->asked_ns =
		(struct opt_i64){(int64_t)(clock_read_ns(CLOCK_REALTIME) - a->duration_ns), true};
	ret->duration_ns = (struct opt_i64){(int64_t)a->duration_ns, true};
	ret->attempts = (struct opt_i64){a->attempts, true};
	ret->tokens_in = (struct opt_i64){a->tokens_in, a->tokens_in >= 0};
	ret->tokens_out = (struct opt_i64){a->tokens_out, a->tokens_out >= 0};
	ret->host = keep_text(&ret->arena, a->host);
	ret->model = keep_text(&ret->arena, a->model);
	ret->warning = keep_text(&ret->arena, a->warning);
	ret->api = llm_api_names[w->how->config->api];
}

/* Ends without a text, for this reason. */
static int skip(struct wording *ret, enum llm_outcome outcome, const char *reason)
{
	ret->outcome = llm_outcome_names[outcome];
	ret->skipped = keep_text(&ret->arena, reason);
	return 0;
}

static int take(struct word *w, const struct llm_answer *answer, struct wording *ret,
		struct errtext *err)
{
	int e;

	take_answer(w, answer, ret);
	if (answer->outcome != LLM_ANSWERED)
		return skip(ret, answer->outcome, answer->reason);
	ret->outcome = llm_outcome_names[LLM_ANSWERED];
	e = llm_check(&w->pack, w->from.names, answer->text, answer->len, &ret->checked, err);
	if (e == -EBADMSG)
		return skip(ret, LLM_BROKEN, err->text);
	if (!e)
		take_checked(w, ret);
	return e;
}

static int make(struct word *w, struct wording *ret, struct errtext *err)
{
	struct llm_answer answer = {0};
	int e;

	ret->redacted = w->how->redact;
	ret->question = keep_text(&ret->arena, w->how->question);
	ret->job_id = w->from.job ? w->from.job->id : 0;
	if (w->how->unusable || !w->from.job)
		return skip(ret, LLM_NOT_CONFIGURED,
			    w->how->unusable ?: "the run has no watched job");
	e = ask_model(w, ret, &answer, err);
	if (!e)
		e = take(w, &answer, ret, err);
	else if (e == -EPERM || e == -E2BIG)
		e = skip(ret, LLM_NOT_ALLOWED, err->text);
	llm_answer_free(&answer);
	return e;
}

int word_model(const struct model *m, const struct word_how *how, struct wording *ret,
	       struct errtext *err)
{
	struct wording wording = {0};
	struct word w;
	int e = word_begin(&w, m, how, err);

	if (!e)
		e = make(&w, &wording, err);
	if (!e && wording.arena.failed)
		e = errtext_set(err, -ENOMEM, "not enough memory for the model's answer");
	word_end(&w);
	progress_over(how->progress);
	if (e)
		wording_free(&wording);
	else
		*ret = wording;
	return e;
}

void wording_free(struct wording *w)
{
	llm_checked_free(&w->checked);
	pack_free(&w->pack);
	arena_free(&w->arena);
	*w = (struct wording){0};
}
