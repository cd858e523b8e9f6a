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

#include "advisor/llm/http/config.h"
#include "advisor/llm/http/key.h"
#include "advisor/llm/http/outcome.h"
#include "advisor/llm/http/transport.h"
#include "advisor/llm/http/wire.h"
#include "cachemon/access/privileges.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"

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

/* One question, over all its attempts. */
struct question {
	const struct llm_config *config;
	const struct llm_prompt *prompt;
	struct endpoint endpoint;
	uint64_t limit_ns, stall_ns, deadline_ns; /* CLOCK_MONOTONIC */
	struct key key;
	struct llm_answer *answer;
};

/* Who asks can do nothing that the user cannot, and leaves no copy of the memory that holds the
 * key: no core file, nothing for another process of the user to read. */
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

/* What needs no network to be known. LLM_ANSWERED: nothing speaks against it. */
static enum llm_outcome may_ask(struct question *q, struct errtext *err)
{
	const struct llm_config *config = q->config;
	struct llm_answer *a = q->answer;
	int r;

	if (!config->url)
		return errtext_set(err, LLM_NOT_CONFIGURED,
				   "no model is configured: set CACHEMON_LLM_URL and "
				   "CACHEMON_LLM_MODEL");
	if (!config->model)
		return errtext_set(err, LLM_NOT_CONFIGURED,
				   "it is not said which model to ask: set CACHEMON_LLM_MODEL");
	if (endpoint_make(config->url, config->api, &q->endpoint, err))
		return LLM_NOT_ALLOWED;
	memcpy(a->host, q->endpoint.host, sizeof(a->host));
	utf8_inert(a->model, sizeof(a->model), config->model, sizeof(a->model) - 1);
	if (q->endpoint.plain && !q->endpoint.loopback && !config->allow_http)
		return errtext_set(err, LLM_NOT_ALLOWED,
				   "%.100s is another machine, and http:// would let anybody on "
				   "the way read: use https://, or allow it with --llm-allow-http",
				   q->endpoint.host);
	if (geteuid() == 0)
		return errtext_set(err, LLM_NOT_ALLOWED,
				   "root does not talk to the network: run this as a user, or as "
				   "root by sudo of a user");
	r = confine();
	if (r)
		return errtext_set(err, LLM_NOT_ALLOWED,
				   "no model is asked: this process cannot give up its "
				   "privileges: %s",
				   strerror(-r));
	return key_read(config->key_env, config->key_file, &q->key, err) ? LLM_NOT_ALLOWED
									 : LLM_ANSWERED;
}

static uint64_t left_ns(const struct question *q)
{
	uint64_t now = clock_now_ns();

	return now < q->deadline_ns ? q->deadline_ns - now : 0;
}

static void wait_ns(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / SECOND), (long)(ns % SECOND)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* A server that takes the beginning of a prompt only and says nothing of it: no tokenizer makes so
 * few tokens of so much text. */
static void look_for_cut_prompt(struct question *q, const struct wire_reply *reply)
{
	enum { BYTES_A_TOKEN_MAX = 6, SMALL = 4000 };
	size_t bytes = strlen(q->prompt->system) + strlen(q->prompt->user);

	if (bytes < SMALL || reply->tokens_in <= 0 ||
	    (uint64_t)reply->tokens_in * BYTES_A_TOKEN_MAX >= bytes)
		return;
	snprintf(q->answer->warning, sizeof(q->answer->warning),
		 "%.100s counts %lld tokens in a prompt of %zu bytes: it seems to have read a part "
		 "of it only; is its context large enough?",
		 q->endpoint.host, (long long)reply->tokens_in, bytes);
}

/* The last attempt says how it ended. */
static enum llm_outcome conclude(struct question *q, const struct outcome *o,
				 struct wire_reply *reply, struct errtext *err)
{
	struct llm_answer *to = q->answer;

	to->tokens_in = reply->tokens_in;
	to->tokens_out = reply->tokens_out;
	to->too_long = o->too_long;
	key_mask(&q->key, reply->model, strlen(reply->model));
	if (outcome_is_model(reply->model))
		snprintf(to->model, sizeof(to->model), "%s", reply->model);
	if (o->outcome != LLM_ANSWERED)
		return errtext_set(err, o->outcome,
				   to->attempts > 1 ? "%s (after %u attempts)" : "%s", o->line,
				   to->attempts);
	look_for_cut_prompt(q, reply);
	key_mask(&q->key, reply->text, reply->len);
	to->len = reply->len;
	to->text = TAKE_PTR(reply->text);
	return LLM_ANSWERED;
}

/* 0, or -errno when not even an attempt can be made. */
static int attempt(struct question *q, const struct wire_shape *shape, struct wire_reply *ret_reply,
		   struct outcome *ret)
{
	_cleanup_free_ char *body = NULL;
	struct transport_call call = {
		.config = q->config,
		.endpoint = &q->endpoint,
		.key = &q->key,
		.left_ns = left_ns(q),
		.stall_ns = q->stall_ns,
	};
	struct outcome_context context = {
		.config = q->config,
		.host = q->endpoint.host,
		.key = &q->key,
		.max_tokens = q->prompt->max_tokens,
		.limit_ns = q->limit_ns,
		.stall_ns = q->stall_ns,
	};
	struct transport_result transport;
	int err = wire_request(shape, q->config->model, q->prompt, &body);

	call.body = body;
	if (!err)
		err = transport_do(&call, &transport);
	if (err)
		return err;
	q->answer->attempts++;
	context.left_ns = left_ns(q);
	outcome_of(&context, &transport, ret_reply, ret);
	transport_result_free(&transport);
	return 0;
}

static enum llm_outcome ask(struct question *q, struct errtext *err)
{
	struct wire_shape shape = {q->config->api, q->config->json, false};
	struct wire_reply reply = {0};
	struct outcome o;
	enum llm_outcome ret = LLM_ANSWERED;
	unsigned int tries = 0;
	uint64_t wait = 0;
	uint32_t random;
	bool again;

	do {
		int e = attempt(q, &shape, &reply, &o);

		if (e)
			return errtext_set(err, LLM_UNREACHABLE,
					   "the request could not be made: %s", strerror(-e));
		/* Another name of the limit, once, is no try. */
		again = o.other_limit && !shape.completion_tokens &&
			left_ns(q) >= OUTCOME_LEFT_MIN_NS;
		if (getentropy(&random, sizeof(random)))
			random = UINT32_MAX;
		if (again)
			shape.completion_tokens = true;
		else
			again = outcome_again(&o, ++tries, left_ns(q), random, &wait);
		if (again)
			wait_ns(wait);
		else
			ret = conclude(q, &o, &reply, err);
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
		.prompt = prompt,
		.limit_ns = config->limit_ns ? config->limit_ns : LIMIT_S * SECOND,
		.stall_ns = config->stall_ns ? config->stall_ns : STALL_S * SECOND,
		.answer = ret,
	};

	*ret = (struct llm_answer){.tokens_in = -1, .tokens_out = -1};
	q.deadline_ns = start + q.limit_ns;
	ret->outcome = may_ask(&q, &err);
	/* A peer that closes its end is no reason to die. */
	sigaction(SIGPIPE, &ignore, &before);
	if (!ret->outcome && !curl_global_init(CURL_GLOBAL_DEFAULT))
		ret->outcome = ask(&q, &err);
	else if (!ret->outcome)
		ret->outcome = errtext_set(&err, LLM_UNREACHABLE, "not enough memory to ask");
	curl_global_cleanup();
	sigaction(SIGPIPE, &before, NULL);
	key_wipe(&q.key);
	utf8_inert(ret->reason, sizeof(ret->reason), err.text, OUTCOME_LINE_MAX);
	ret->duration_ns = clock_now_ns() - start;
}

void llm_answer_free(struct llm_answer *a)
{
	free(a->text);
	memset(a, 0, sizeof(*a));
}

int llm_request_body(const struct llm_config *config, const struct llm_prompt *prompt,
		     char **ret_body, struct errtext *err)
{
	const struct wire_shape shape = {config->api, config->json, false};
	int r = wire_request(&shape, config->model ? config->model : "", prompt, ret_body);

	if (r)
		return errtext_set(err, r,
				   r == -EINVAL ? "the schema of the answer is no JSON"
						: "no memory for the request");
	return 0;
}
