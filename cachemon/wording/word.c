/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/wording/word.h"

#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advisor/analysis/analysis.h"
#include "advisor/llm/prompt.h"
#include "advisor/llm/tokens.h"
#include "advisor/rules/embedded.h"
#include "cachemon/wording/pack_model.h"
#include "cachemon/wording/word_impl.h"

static const char SCHEMA_NAME[] = "wording";

/* What names the user who asks: no report has these, but notes and commands may. */
static int name_user(struct redact *r, const struct invoker *as)
{
	int ret = 0;

	if (as && as->name && as->uid)
		ret = redact_add(r, NAME_USER, as->name, strlen(as->name));
	if (!ret && as && as->home && as->uid && strcmp(as->home, "/") != 0)
		ret = redact_add(r, NAME_DIRECTORY, as->home, strlen(as->home));
	return ret;
}

/* What everybody has is no secret: a job may be called "read". */
static int publish_ours(struct redact *r)
{
	const struct pack empty = {.nr_facts = 0};
	struct prompt p;
	const char *id, *text;
	int ret = prompt_make(&empty, &p, NULL);

	if (ret)
		return ret;
	ret = redact_public(r, p.system) || redact_public(r, p.user) || redact_public(r, p.schema);
	prompt_free(&p);
	for (size_t i = 0; !ret && embedded_note(i, &id, &text); i++)
		ret = redact_public(r, text);
	for (size_t i = 0; !ret && embedded_shared(i, &id, &text); i++)
		ret = redact_public(r, text);
	for (size_t i = 0; !ret && embedded_rule(i, &id, &text); i++)
		ret = redact_public(r, text);
	return ret ? -ENOMEM : 0;
}

static int begin(struct word *w, const struct model *m, const struct word_how *how,
		 struct errtext *err)
{
	*w = (struct word){.m = m, .how = how, .job = model_main_job(m)};
	w->names = redact_new(how->redact);
	if (!w->names || pack_names(w->names, m) || name_user(w->names, how->as) ||
	    publish_ours(w->names))
		return errtext_set(err, -ENOMEM, "not enough memory for the names in the report");
	if (!w->job || !m->analysis)
		return 0;
	return kb_open(&m->analysis->rules, how->notes_dir, how->on_problem, how->on_problem_arg,
		       &w->kb, err);
}

static void end(struct word *w)
{
	prompt_free(&w->prompt);
	pack_free(&w->pack);
	kb_free(w->kb);
	redact_free(w->names);
}

/* The most that is told within the budget, from this row on. */
static int fit(struct word *w, unsigned int row, struct errtext *err)
{
	const struct pack_source from = {w->m, w->job, w->names, w->kb, w->how->question};
	int ret = 0;

	for (; row < PACK_ROWS && !ret; row++) {
		prompt_free(&w->prompt);
		pack_free(&w->pack);
		ret = pack_model(&from, row, &w->pack, err);
		if (!ret)
			ret = prompt_make(&w->pack, &w->prompt, err);
		w->row = row;
		w->pack.instructions = w->prompt.system;
		w->pack.canary = prompt_canary();
		if (!ret && w->prompt.tokens <= LLM_TOKENS_IN)
			return 0;
	}
	return ret ? ret
		   : errtext_set(err, -E2BIG,
				 "what a model would be told is too long, about %zu tokens of "
				 "%d: nothing is sent",
				 w->prompt.tokens, LLM_TOKENS_IN);
}

static const char *name_left(const struct word *w)
{
	const char *left = redact_left(w->names, w->prompt.user, strlen(w->prompt.user));

	return left ? left : redact_left(w->names, w->prompt.schema, strlen(w->prompt.schema));
}

/* What may be sent. -EPERM, -E2BIG with a text: nothing may. */
static int prepare(struct word *w, unsigned int row, struct errtext *err)
{
	int e = fit(w, row, err);

	if (!e && name_left(w))
		e = errtext_set(err, -EPERM,
				"a name was left in what would be sent, so nothing was sent; "
				"please report this");
	return e;
}

static struct llm_prompt wire_prompt(const struct word *w)
{
	return (struct llm_prompt){w->prompt.system, w->prompt.user, SCHEMA_NAME, w->prompt.schema,
				   LLM_TOKENS_OUT};
}

int word_body(const struct model *m, const struct word_how *how, struct word_body *ret,
	      struct errtext *err)
{
	struct word_body body = {0};
	struct llm_prompt prompt;
	struct word w;
	int e = begin(&w, m, how, err);

	if (!e && (!w.job || !m->analysis))
		e = errtext_set(err, -ENOENT,
				"the run has no job that was watched: there is nothing "
				"to be worded");
	if (!e)
		e = prepare(&w, 0, err);
	if (!e) {
		prompt = wire_prompt(&w);
		e = llm_request_body(how->config, &prompt, false, &body.body, &body.len, err);
		body.tokens = w.prompt.tokens;
	}
	end(&w);
	if (!e)
		*ret = body;
	return e;
}

/* A line of the arena. */
static const char *keep(struct wording *ret, const char *text)
{
	return text && *text ? arena_bytes(&ret->arena, text, strlen(text)).data : NULL;
}

static int hash(const struct word *w, struct wording *ret, struct errtext *err)
{
	const struct llm_prompt prompt = wire_prompt(w);
	char hex[SHA256_DIGEST_STRING_LENGTH];
	char *body = NULL;
	size_t len = 0;
	int e = llm_request_body(w->how->config, &prompt, false, &body, &len, err);

	if (e)
		return e;
	SHA256Data((const uint8_t *)body, len, hex);
	free(body);
	ret->prompt_sha256 = keep(ret, hex);
	return 0;
}

static void meet(const struct word *w, const struct llm_answer *a, struct wording *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	ret->asked_ns = (struct opt_i64){(int64_t)now.tv_sec * 1000000000 + now.tv_nsec, true};
	ret->asked_ns.value -= (int64_t)a->duration_ns;
	ret->duration_ns = (struct opt_i64){(int64_t)a->duration_ns, true};
	ret->attempts = (struct opt_i64){a->attempts, true};
	ret->tokens_in = (struct opt_i64){a->tokens_in, a->tokens_in >= 0};
	ret->tokens_out = (struct opt_i64){a->tokens_out, a->tokens_out >= 0};
	ret->host = keep(ret, a->host);
	ret->model = keep(ret, a->model);
	ret->warning = keep(ret, a->warning);
	ret->api = w->how->config->api == LLM_ANTHROPIC ? "anthropic" : "openai";
}

static int ask_once(struct word *w, struct wording *ret, struct llm_answer *answer,
		    struct errtext *err)
{
	const struct llm_prompt prompt = wire_prompt(w);
	const struct llm_listener listener = {word_piece, word_again, w};
	int e = hash(w, ret, err);

	progress_at(w->how->progress, "waiting for the model", 0, 0);
	if (!e)
		llm_ask(w->how->config, &prompt, w->how->on_statement ? &listener : NULL, answer);
	return e;
}

/* A server's own limit may be lower than ours: once more, with less. */
static int ask(struct word *w, struct wording *ret, struct llm_answer *answer, struct errtext *err)
{
	int e = ask_once(w, ret, answer, err);

	if (e || !answer->too_long || w->row + 2 >= PACK_ROWS)
		return e;
	llm_answer_free(answer);
	/* It may have begun to answer before it said so. */
	word_again(w);
	e = prepare(w, w->row + 2, err);
	return e ? e : ask_once(w, ret, answer, err);
}

static int take(struct word *w, const struct llm_answer *answer, struct wording *ret,
		struct errtext *err)
{
	struct errtext why = {0};
	struct llm_checked checked = {0};
	int e;

	meet(w, answer, ret);
	ret->outcome = llm_outcome_names[answer->outcome];
	if (answer->outcome != LLM_ANSWERED) {
		ret->skipped = keep(ret, answer->reason);
		return 0;
	}
	e = llm_check(&w->pack, w->names, answer->text, answer->len, &checked, &why);
	if (e == -EBADMSG) {
		ret->outcome = llm_outcome_names[LLM_BROKEN];
		ret->skipped = keep(ret, why.text);
		return 0;
	}
	if (e)
		return errtext_set(err, e, "%s", why.text);
	e = word_take(w, &checked, ret);
	llm_checked_free(&checked);
	return e ? errtext_set(err, e, "not enough memory for a model's words") : 0;
}

static int make(struct word *w, struct wording *ret, struct errtext *err)
{
	struct llm_answer answer = {0};
	struct errtext why = {0};
	int e;

	ret->redacted = w->how->redact;
	ret->question = keep(ret, w->how->question);
	if (!w->job || !w->m->analysis) {
		ret->outcome = llm_outcome_names[LLM_NOT_CONFIGURED];
		ret->skipped = "the run has no job that was watched";
		return 0;
	}
	ret->job_id = w->job->id;
	e = prepare(w, 0, &why);
	if (!e)
		e = ask(w, ret, &answer, &why);
	if (e == -EPERM || e == -E2BIG) {
		ret->outcome = llm_outcome_names[LLM_NOT_ALLOWED];
		ret->skipped = keep(ret, why.text);
		llm_answer_free(&answer);
		llm_split_free(w->split);
		return 0;
	}
	if (e)
		errtext_set(err, e, "%s", why.text);
	if (!e)
		e = take(w, &answer, ret, err);
	llm_answer_free(&answer);
	llm_split_free(w->split);
	return e ? e : ret->arena.failed ? errtext_set(err, -ENOMEM, "not enough memory") : 0;
}

int word_model(const struct model *m, const struct word_how *how, struct wording *ret,
	       struct errtext *err)
{
	struct wording wording = {0};
	struct word w;
	int e = begin(&w, m, how, err);

	if (!e)
		e = make(&w, &wording, err);
	end(&w);
	progress_over(how->progress);
	if (e)
		wording_free(&wording);
	else
		*ret = wording;
	return e;
}

void wording_free(struct wording *w)
{
	arena_free(&w->arena);
	*w = (struct wording){0};
}
