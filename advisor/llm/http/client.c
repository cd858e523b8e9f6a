/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "advisor/llm/http/config.h"
#include "advisor/llm/http/key.h"
#include "advisor/llm/http/outcome.h"
#include "advisor/llm/http/save.h"
#include "advisor/llm/http/outcome.h"
#include "advisor/llm/http/sse.h"
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
	const struct llm_listener *listener; /* NULL: not streamed */
	struct endpoint endpoint;
	uint64_t limit_ns, stall_ns, deadline_ns; /* CLOCK_MONOTONIC */
	struct key key;
	struct save save;
	struct policy policy;
	struct llm_answer *answer;
	bool shown; /* pieces of an attempt that are to be forgotten if another follows */
};

struct attempt {
	struct question *question;
	struct sse sse;
	struct wire_reply reply;
	size_t told; /* of its text */
	struct transport_result transport;
	struct verdict verdict;
};

static void say(struct llm_answer *a, enum llm_outcome outcome, const char *reason)
{
	a->outcome = outcome;
	utf8_inert(a->reason, sizeof(a->reason), reason, strlen(reason), SAY_MAX);
}

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

/* What needs no network to be known. False: it ends here, and is said. */
static bool may_ask(struct question *q)
{
	const struct llm_config *config = q->config;
	struct llm_answer *a = q->answer;
	struct errtext err = {0};
	char text[512];
	int r;

	if (!config->url || !config->model) {
		say(a, LLM_NOT_CONFIGURED,
		    !config->url ? "no model is configured: set CACHEMON_LLM_URL and "
				   "CACHEMON_LLM_MODEL"
				 : "it is not said which model to ask: set CACHEMON_LLM_MODEL");
		return false;
	}
	if (endpoint_make(config->url, config->api, &q->endpoint, &err)) {
		say(a, LLM_NOT_ALLOWED, err.text[0] ? err.text : "no memory");
		return false;
	}
	memcpy(a->host, q->endpoint.host, sizeof(a->host));
	utf8_inert(a->model, sizeof(a->model), config->model, strlen(config->model),
		   sizeof(a->model) - 1);
	if (q->endpoint.plain && !q->endpoint.loopback && !config->allow_http) {
		snprintf(text, sizeof(text),
			 "%.100s is another machine, and http:// would let anybody on the way "
			 "read: use https://, or allow it with --llm-allow-http",
			 q->endpoint.host);
		say(a, LLM_NOT_ALLOWED, text);
		return false;
	}
	if (geteuid() == 0) {
		say(a, LLM_NOT_ALLOWED,
		    "root does not talk to the network: run this as a user, or as root by sudo of "
		    "a user");
		return false;
	}
	r = confine();
	if (r) {
		snprintf(text, sizeof(text),
			 "no model is asked: this process cannot give up its privileges: %s",
			 strerror(-r));
		say(a, LLM_NOT_ALLOWED, text);
	}
	return !r;
}

static uint64_t left_ns(const struct question *q)
{
	uint64_t now = clock_now_ns();

	return now < q->deadline_ns ? q->deadline_ns - now : 0;
}

static void warn(struct question *q, const char *text)
{
	char *to = q->answer->warning;

	if (!*to)
		utf8_inert(to, sizeof(q->answer->warning), text, strlen(text),
			   sizeof(q->answer->warning) - 1);
}

static void keep(struct question *q, const char *part, char *bytes, size_t len)
{
	struct errtext err = {0};

	if (bytes)
		key_mask(&q->key, bytes, len);
	if (save_part(&q->save, q->answer->attempts, part, bytes, len, &err))
		warn(q, err.text);
}

static void mask(const struct question *q, char *text)
{
	key_mask(&q->key, text, strlen(text));
}

/* Servers may cut a character in two; those who listen get it whole. What may become the key waits
 * until it is seen not to. */
static void tell(struct attempt *a)
{
	struct question *q = a->question;
	size_t told = a->told;
	size_t clear = told + key_mask(&q->key, a->reply.text + told, a->reply.len - told);
	size_t whole = utf8_whole(a->reply.text, clear);

	if (whole <= told)
		return;
	q->shown = true;
	a->told = whole;
	q->listener->text(q->listener->arg, a->reply.text + told, whole - told);
}

static int on_event(void *arg, const char *data, size_t len)
{
	struct attempt *a = arg;
	int err = wire_event(a->question->config->api, data, len, &a->reply);

	if (err)
		return err;
	if (a->reply.len)
		tell(a);
	return a->reply.done || a->reply.failed;
}

static int on_bytes(void *arg, const char *bytes, size_t len)
{
	struct attempt *a = arg;

	return sse_feed(&a->sse, bytes, len, on_event, a);
}

/* 0, or -errno when not even an attempt can be made. */
static int attempt(struct question *q, struct attempt *a)
{
	_cleanup_free_ char *body = NULL;
	struct transport_call call = {
		.config = q->config,
		.endpoint = &q->endpoint,
		.key = &q->key,
		.stream = q->policy.shape.stream,
		.left_ns = left_ns(q),
		.stall_ns = q->stall_ns,
		.piece = on_bytes,
		.arg = a,
	};
	int err = wire_request(&q->policy.shape, q->config->model, q->prompt, &body, &call.len);

	if (err)
		return err;
	if (q->shown)
		q->listener->again(q->listener->arg);
	q->shown = false;
	q->answer->attempts++;
	keep(q, "request.json", body, call.len);
	call.body = body;
	err = transport_do(&call, &a->transport);
	if (err)
		return err;
	keep(q, "headers", a->transport.headers, a->transport.headers_len);
	keep(q, "response", a->transport.body, a->transport.len);
	a->verdict = judge(q->config->api, &a->transport, &a->reply);
	/* Of a stream, or written so that it was not seen in the bytes. */
	mask(q, a->verdict.error.message);
	mask(q, a->reply.model);
	return 0;
}

static void forget(struct attempt *a)
{
	sse_free(&a->sse);
	wire_reply_free(&a->reply);
	transport_result_free(&a->transport);
}

static uint32_t chance(void)
{
	uint32_t random = UINT32_MAX;

	return getrandom(&random, sizeof(random), GRND_NONBLOCK) == (ssize_t)sizeof(random)
		       ? random
		       : UINT32_MAX;
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
	char text[256];

	if (bytes < SMALL || reply->tokens_in <= 0 ||
	    (uint64_t)reply->tokens_in * BYTES_A_TOKEN_MAX >= bytes)
		return;
	snprintf(text, sizeof(text),
		 "%.100s counts %lld tokens in a prompt of %zu bytes: it seems to have read a part "
		 "of it only; is its context large enough?",
		 q->endpoint.host, (long long)reply->tokens_in, bytes);
	warn(q, text);
}

/* The last attempt says how it ended. */
static void conclude(struct question *q, struct attempt *a, const struct policy_next *next)
{
	const char *model = say_is_model(a->reply.model) ? a->reply.model : q->config->model;
	struct llm_answer *to = q->answer;
	struct say_facts facts = {
		.config = q->config,
		.host = q->endpoint.host,
		.with_key = q->key.len != 0,
		.max_tokens = q->prompt->max_tokens,
		.attempts = to->attempts,
		.limit_ns = q->limit_ns,
		.stall_ns = q->stall_ns,
		.transport = &a->transport,
		.reply = &a->reply,
		.verdict = &a->verdict,
		.next = next,
		.retry_after_ns = a->transport.retry_after_ns,
		.time_over = left_ns(q) < POLICY_LEFT_MIN_NS,
	};

	to->outcome = say_outcome(&a->verdict);
	to->tokens_in = a->reply.tokens_in;
	to->tokens_out = a->reply.tokens_out;
	to->too_long = a->verdict.complaint == COMPLAINT_LONG;
	utf8_inert(to->model, sizeof(to->model), model, strlen(model), sizeof(to->model) - 1);
	if (to->outcome != LLM_ANSWERED) {
		say_reason(&facts, to->reason, sizeof(to->reason));
		return;
	}
	look_for_cut_prompt(q, &a->reply);
	key_mask(&q->key, a->reply.text, a->reply.len);
	to->len = a->reply.len;
	to->text = TAKE_PTR(a->reply.text);
}

static int ask_until_said(struct question *q)
{
	struct policy_next next;

	do {
		struct attempt a = {.question = q};
		int err;

		wire_reply_init(&a.reply);
		err = attempt(q, &a);
		if (err) {
			forget(&a);
			return err;
		}
		next = policy_after(&q->policy, &a.verdict, a.transport.retry_after_ns, left_ns(q),
				    chance());
		if (next.act == POLICY_END)
			conclude(q, &a, &next);
		forget(&a);
		if (next.act == POLICY_AGAIN)
			wait_ns(next.wait_ns);
	} while (next.act != POLICY_END);
	return 0;
}

static void ask(struct question *q)
{
	/* A peer that closes its end is no reason to die. */
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;
	struct errtext err = {0};
	char text[128];
	int r;

	if (key_read(q->config->key_env, q->config->key_file, &q->key, &err)) {
		say(q->answer, LLM_NOT_ALLOWED, err.text);
		return;
	}
	if (save_open(q->config->save_dir, &q->save, &err))
		warn(q, err.text);
	sigaction(SIGPIPE, &ignore, &before);
	r = curl_global_init(CURL_GLOBAL_DEFAULT) ? -ENOMEM : ask_until_said(q);
	curl_global_cleanup();
	sigaction(SIGPIPE, &before, NULL);
	save_close(&q->save);
	key_wipe(&q->key);
	if (!r)
		return;
	snprintf(text, sizeof(text), "the request could not be made: %s", strerror(-r));
	say(q->answer, LLM_UNREACHABLE, text);
}

void llm_ask(const struct llm_config *config, const struct llm_prompt *prompt,
	     const struct llm_listener *listener, struct llm_answer *ret)
{
	uint64_t start = clock_now_ns();
	struct question q = {
		.config = config,
		.prompt = prompt,
		.listener = listener,
		.limit_ns = config->limit_ns ? config->limit_ns : LIMIT_S * SECOND,
		.stall_ns = config->stall_ns ? config->stall_ns : STALL_S * SECOND,
		.save = {-1},
		.policy.shape = {config->api, config->json, false, listener != NULL},
		.answer = ret,
	};

	*ret = (struct llm_answer){.tokens_in = -1, .tokens_out = -1};
	q.deadline_ns = start + q.limit_ns;
	if (may_ask(&q))
		ask(&q);
	endpoint_free(&q.endpoint);
	ret->duration_ns = clock_now_ns() - start;
}

void llm_answer_free(struct llm_answer *a)
{
	free(a->text);
	memset(a, 0, sizeof(*a));
}

int llm_request_body(const struct llm_config *config, const struct llm_prompt *prompt, bool stream,
		     char **ret_body, size_t *ret_len, struct errtext *err)
{
	const struct wire_shape shape = {config->api, config->json, false, stream};
	int r = wire_request(&shape, config->model ? config->model : "", prompt, ret_body, ret_len);

	if (r)
		return errtext_set(err, r,
				   r == -EINVAL ? "the schema of the answer is no JSON"
						: "no memory for the request");
	return 0;
}
