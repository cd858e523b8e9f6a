/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "advisor/llm/http/attempt.h"
#include "cachemon/access/privileges.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/escape.h"

#define SECOND UINT64_C(1000000000)

enum { LIMIT_S = 120, STALL_S = 45 };

const char *const llm_api_names[] = {"openai", "anthropic"};
const char *const llm_json_names[] = {"schema", "object", "none"};

const char *const llm_outcome_names[LLM_OUTCOME_NR] = {
	[LLM_ANSWERED] = "answered",	   [LLM_NOT_CONFIGURED] = "not_configured",
	[LLM_NOT_ALLOWED] = "not_allowed", [LLM_UNREACHABLE] = "unreachable",
	[LLM_REFUSED] = "refused",	   [LLM_BROKEN] = "broken",
	[LLM_DECLINED] = "declined",
};

/* The process that queries has only the user's rights, and no copy of its memory is left,
 * because it holds the key: no core file, and no access by the user's other processes. */
static int confine(void)
{
	const struct rlimit none = {0, 0};
	uid_t r, e, s;

	if (getresuid(&r, &e, &s))
		return -errno;
	if (!r || !e || !s || privileges_permitted())
		return -EPERM;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) ||
			       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
		       ? -errno
		       : 0;
}

/* Checks that need no network. LLM_ANSWERED: all passed. */
static enum llm_outcome may_ask(struct question *q, struct llm_answer *a, struct errtext *err)
{
	const struct llm_config *config = q->config;
	int r;

	if (!config->url)
		return errtext_set(err, LLM_NOT_CONFIGURED,
				   "no model is configured: set CACHEMON_LLM_URL and "
				   "CACHEMON_LLM_MODEL");
	if (!config->model)
		return errtext_set(err, LLM_NOT_CONFIGURED,
				   "no model name is configured: set CACHEMON_LLM_MODEL");
	if (endpoint_make(config->url, config->api, &q->endpoint, err))
		return LLM_NOT_ALLOWED;
	memcpy(a->host, q->endpoint.host, sizeof(a->host));
	escape_inert_to(a->model, sizeof(a->model), config->model);
	if (q->endpoint.plain && !q->endpoint.loopback && !config->allow_http)
		return errtext_set(err, LLM_NOT_ALLOWED,
				   "http:// to %.100s, another machine, is not encrypted: use "
				   "https://, or allow it with --llm-allow-http",
				   q->endpoint.host);
	if (geteuid() == 0)
		return errtext_set(
			err, LLM_NOT_ALLOWED,
			"root does not contact the network: run this as a user, or through sudo");
	r = confine();
	if (r)
		return errtext_set(
			err, LLM_NOT_ALLOWED,
			"no model was contacted: this process cannot drop its privileges: %s",
			strerror(-r));
	return key_read(config->key_env, config->key_file, &q->key, err) ? LLM_NOT_ALLOWED
									 : LLM_ANSWERED;
}

static void wait_ns(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / SECOND), (long)(ns % SECOND)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* Detects a server that silently cuts the prompt: no tokenizer makes so few tokens of such a
 * text. */
static void look_for_cut_prompt(const struct llm_prompt *prompt, struct llm_answer *a)
{
	enum { BYTES_A_TOKEN_MAX = 6, SMALL = 4000 };
	size_t bytes = strlen(prompt->system) + strlen(prompt->user);

	if (!a->text || bytes < SMALL || a->tokens_in <= 0 ||
	    (uint64_t)a->tokens_in * BYTES_A_TOKEN_MAX >= bytes)
		return;
	snprintf(a->warning, sizeof(a->warning),
		 "%.100s counted %lld tokens in a prompt of %zu bytes, so it probably read only a "
		 "part of it; check the size of its context",
		 a->host, (long long)a->tokens_in, bytes);
}

/* The last attempt gives the error. */
static enum llm_outcome conclude(const struct outcome *o, struct wire_reply *reply,
				 struct llm_answer *to, struct errtext *err)
{
	to->tokens_in = reply->tokens_in;
	to->tokens_out = reply->tokens_out;
	to->too_long = o->too_long;
	if (outcome_is_model(reply->model))
		snprintf(to->model, sizeof(to->model), "%s", reply->model);
	if (o->outcome != LLM_ANSWERED)
		return errtext_set(err, o->outcome,
				   to->attempts > 1 ? "%s (after %u attempts)" : "%s", o->line,
				   to->attempts);
	to->len = reply->len;
	to->text = TAKE_PTR(reply->text);
	return LLM_ANSWERED;
}

static void look_at_clock(struct question *q, uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns();

	q->left_ns = now < deadline_ns ? deadline_ns - now : 0;
}

static enum llm_outcome ask_endpoint(struct question *q, const struct llm_prompt *prompt,
				     uint64_t deadline_ns, struct llm_answer *to,
				     struct errtext *err)
{
	enum llm_outcome ret = LLM_ANSWERED;
	unsigned int tries = 0;
	bool completion_tokens = false, again;

	do {
		_cleanup_free_ char *body = NULL;
		struct transport_result transport;
		struct wire_reply reply;
		struct outcome o;
		uint64_t wait = 0;
		uint32_t random = UINT32_MAX;
		int e = wire_request(q->config, prompt, completion_tokens, &body);

		look_at_clock(q, deadline_ns);
		if (!e)
			e = transport_do(q, body, &transport);
		if (e)
			return errtext_set(err, LLM_UNREACHABLE,
					   "the request could not be made: %s", strerror(-e));
		to->attempts++;
		look_at_clock(q, deadline_ns);
		outcome_of(q, &transport, &reply, &o);
		transport_result_free(&transport);
		/* Repeating with the other name of the limit, once, does not count as a retry. */
		again = o.other_limit && !completion_tokens && q->left_ns >= OUTCOME_LEFT_MIN_NS;
		completion_tokens |= again;
		(void)!getentropy(&random, sizeof(random)); /* else the longest wait */
		if (!again)
			again = outcome_again(&o, ++tries, q->left_ns, random, &wait);
		if (again)
			wait_ns(wait);
		else
			ret = conclude(&o, &reply, to, err);
		wire_reply_free(&reply);
	} while (again);
	return ret;
}

void llm_ask(const struct llm_config *config, const struct llm_prompt *prompt,
	     struct llm_answer *ret)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;
	uint64_t start = clock_now_ns();
	struct errtext err = {""};
	struct question q = {
		.config = config,
		.max_tokens = prompt->max_tokens,
		.limit_ns = config->limit_ns ? config->limit_ns : LIMIT_S * SECOND,
		.stall_ns = config->stall_ns ? config->stall_ns : STALL_S * SECOND,
	};

	*ret = (struct llm_answer){.tokens_in = -1, .tokens_out = -1};
	ret->outcome = may_ask(&q, ret, &err);
	/* SIGPIPE must not kill the process when a peer closes the connection. */
	sigaction(SIGPIPE, &ignore, &before);
	if (!ret->outcome && !curl_global_init(CURL_GLOBAL_DEFAULT))
		ret->outcome = ask_endpoint(&q, prompt, start + q.limit_ns, ret, &err);
	else if (!ret->outcome)
		ret->outcome = errtext_set(&err, LLM_UNREACHABLE, "not enough memory to ask");
	curl_global_cleanup();
	sigaction(SIGPIPE, &before, NULL);
	key_wipe(&q.key);
	look_for_cut_prompt(prompt, ret);
	escape_inert_to(ret->reason, sizeof(ret->reason), err.text);
	ret->duration_ns = clock_now_ns() - start;
}

void llm_answer_free(struct llm_answer *a)
{
	free(a->text);
	memset(a, 0, sizeof(*a));
}
