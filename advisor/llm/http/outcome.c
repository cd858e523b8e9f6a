/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/attempt.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/escape.h"

#define SECOND UINT64_C(1000000000)

enum { MODEL_MAX = 64, RETRY_AFTER_MAX_S = 60 };

enum complaint {
	COMPLAINT_NONE,
	COMPLAINT_LONG,
	COMPLAINT_QUOTA,
	COMPLAINT_TOKENS,
	COMPLAINT_FORM
};

/* The first match counts. These are error texts of llama.cpp's server, OpenAI, Anthropic, vLLM
 * and Ollama. */
static const struct {
	enum complaint complaint;
	int status, or_status;
	const char *words[9];
} complaints[] = {
	{COMPLAINT_LONG, 413, 413, {""}},
	{COMPLAINT_LONG,
	 400,
	 422,
	 {"exceed_context_size", "context_length_exceeded", "maximum context length",
	  "exceeds the available context", "exceed context limit", "exceeds the context",
	  "prompt is too long"}},
	{COMPLAINT_QUOTA, 402, 402, {""}},
	{COMPLAINT_QUOTA,
	 400,
	 429,
	 {"insufficient_quota", "exceeded your current quota", "credit balance is too low"}},
	{COMPLAINT_TOKENS, 400, 422, {"max_completion_tokens"}},
	{COMPLAINT_FORM,
	 400,
	 422,
	 {"response_format", "output_config", "output_format", "json_object", "structured output",
	  "schema", "grammar", "generate parser"}},
};

/* Searches every part of the error. */
static enum complaint complaint_of(int status, const struct wire_error *e)
{
	for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
		const char *const *word = complaints[i].words;

		if (status != complaints[i].status && status != complaints[i].or_status)
			continue;
		for (; *word; word++)
			if (strcasestr(e->message, *word) || strcasestr(e->type, *word) ||
			    strcasestr(e->code, *word) || strcasestr(e->param, *word))
				return complaints[i].complaint;
	}
	return COMPLAINT_NONE;
}

/* ': "the server's text"', or nothing. */
struct quote {
	char s[OUTCOME_QUOTE_MAX + 16];
};

static struct quote quote_of(const char *text)
{
	char inert[OUTCOME_QUOTE_MAX + 1];
	struct quote ret = {""};

	escape_inert_to(inert, sizeof(inert), text);
	if (*inert)
		snprintf(ret.s, sizeof(ret.s), ": \"%s\"", inert);
	return ret;
}

/* "HOST refuses": a host may have 253 bytes. */
static void __attribute__((format(printf, 4, 5)))
say(const struct question *q, struct outcome *o, enum llm_outcome outcome, const char *fmt, ...)
{
	int len = snprintf(o->line, sizeof(o->line), "%.100s ", q->endpoint.host);
	va_list args;

	va_start(args, fmt);
	vsnprintf(o->line + len, sizeof(o->line) - (size_t)len, fmt, args);
	va_end(args);
	o->outcome = outcome;
}

/* The list ends with 0. */
static bool is_one_of(int value, const int *list)
{
	while (*list && *list != value)
		list++;
	return *list;
}

/* Temporary errors of libcurl. */
static const int passing_failures[] = {
	CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_PARTIAL_FILE,
	CURLE_OPERATION_TIMEDOUT,   CURLE_GOT_NOTHING,	   CURLE_SSL_CONNECT_ERROR,
	CURLE_SEND_ERROR,	    CURLE_RECV_ERROR,	   0};

static void of_network(const struct question *q, const struct transport_result *t,
		       struct outcome *o)
{
	struct quote said = quote_of(t->said);

	o->passing = is_one_of(t->curl, passing_failures);
	if (t->curl == CURLE_PARTIAL_FILE)
		say(q, o, LLM_BROKEN, "sent an incomplete answer%s", said.s);
	else if (t->curl == CURLE_OPERATION_TIMEDOUT && t->stalled)
		say(q, o, LLM_UNREACHABLE, "stalled mid-answer (no data for %llu s)",
		    (unsigned long long)(q->stall_ns / SECOND));
	else if (t->curl == CURLE_OPERATION_TIMEDOUT && q->left_ns < OUTCOME_LEFT_MIN_NS)
		say(q, o, LLM_UNREACHABLE, "did not answer within %.1f s%s",
		    (double)q->limit_ns / (double)SECOND, said.s);
	else if (t->curl == CURLE_PEER_FAILED_VERIFICATION)
		say(q, o, LLM_UNREACHABLE,
		    "is not trusted%s; to trust your own CA, set CACHEMON_LLM_CA", said.s);
	else
		say(q, o, LLM_UNREACHABLE, "cannot be reached%s%s",
		    t->curl == CURLE_SSL_CACERT_BADFILE ? " with this CA file (CACHEMON_LLM_CA)"
		    : t->curl == CURLE_SSL_CERTPROBLEM
			    ? " with this client certificate (CACHEMON_LLM_CERT, "
			      "CACHEMON_LLM_CERT_KEY)"
			    : "",
		    said.s);
}

static const int passing_statuses[] = {408, 409, 429, 500, 502, 503, 504, 529, 0};

/* The advice to the user; "": none known. */
static const char *advice(const struct question *q, enum complaint complaint, int status)
{
	if (complaint == COMPLAINT_QUOTA)
		return "; its quota is used up";
	if (complaint == COMPLAINT_FORM && q->config->json == LLM_JSON_NONE)
		return "";
	if (complaint == COMPLAINT_FORM)
		return q->config->json == LLM_JSON_SCHEMA && q->config->api == LLM_OPENAI
			       ? "; if it does not support JSON schemas, use --llm-json object or "
				 "none"
			       : "; if it does not support JSON output, use --llm-json none";
	if (status == 401 || status == 403)
		return q->key.len ? "; check that the key is right and belongs to this endpoint"
				  : "; no key was sent: set CACHEMON_LLM_KEY or "
				    "CACHEMON_LLM_KEY_FILE";
	return status == 404   ? "; check CACHEMON_LLM_URL and CACHEMON_LLM_MODEL"
	       : status == 407 ? "; the proxy requires a user: set one in http_proxy or https_proxy"
			       : "";
}

static void of_status(const struct question *q, int status, const struct wire_error *e,
		      struct outcome *o)
{
	enum complaint complaint = complaint_of(status, e);
	/* Retrying sooner than the server allows is useless, and a much later retry does not
	 * help the user. */
	bool no_time = o->retry_after_ns >= 0 &&
		       ((uint64_t)o->retry_after_ns + OUTCOME_LEFT_MIN_NS > q->left_ns ||
			(uint64_t)o->retry_after_ns > RETRY_AFTER_MAX_S * SECOND);
	struct quote said = quote_of(e->message);

	o->too_long = complaint == COMPLAINT_LONG;
	o->other_limit = complaint == COMPLAINT_TOKENS && q->config->api == LLM_OPENAI;
	o->passing = complaint != COMPLAINT_QUOTA && is_one_of(status, passing_statuses);
	if (o->too_long)
		say(q, o, LLM_REFUSED, "refused the request (status %d): the prompt is too long%s",
		    status, said.s);
	else if (o->passing && no_time)
		say(q, o, LLM_REFUSED,
		    "refused the request (status %d) and asks to wait %llu s, longer than the time "
		    "left%s",
		    status, (unsigned long long)o->retry_after_ns / SECOND, said.s);
	else
		say(q, o, LLM_REFUSED, "refused the request (status %d)%s%s", status, said.s,
		    advice(q, complaint, status));
	o->passing &= !no_time;
}

/* A text is an answer only if it is complete. A model's other texts are not shown, because
 * nobody has checked them. */
static void of_reply(const struct question *q, const struct wire_reply *r, struct outcome *o)
{
	bool is_name = !r->end_said[strspn(r->end_said, "abcdefghijklmnopqrstuvwxyz_")];

	if (r->end == WIRE_END_REFUSAL)
		say(q, o, LLM_DECLINED, "declined to answer");
	else if (r->end == WIRE_END_LENGTH)
		say(q, o, LLM_BROKEN, "cut its answer at max_tokens (%u)", q->max_tokens);
	else if (r->end != WIRE_END_STOP)
		say(q, o, LLM_BROKEN, "did not finish its answer%s",
		    quote_of(is_name ? r->end_said : "").s);
	else if (!r->text[strspn(r->text, " \t\r\n")])
		say(q, o, LLM_DECLINED, "sent an empty answer");
}

static void of_other_api(const struct question *q, const struct transport_result *t,
			 struct outcome *o)
{
	say(q, o, LLM_BROKEN, "did not reply as %s API does%s",
	    q->config->api == LLM_ANTHROPIC ? "Anthropic's" : "OpenAI's",
	    t->encoded ? ": the reply is compressed, which was not requested"
		       : "; check CACHEMON_LLM_URL");
}

void outcome_of(const struct question *q, const struct transport_result *t,
		struct wire_reply *ret_reply, struct outcome *ret)
{
	struct wire_error error = {0};
	const char *body = t->body ? t->body : "";

	*ret_reply = (struct wire_reply){.tokens_in = -1, .tokens_out = -1};
	*ret = (struct outcome){.outcome = LLM_ANSWERED,
				.retry_after_ns = t->curl ? -1 : t->retry_after_ns};
	if (t->too_big) {
		say(q, ret, LLM_BROKEN,
		    "sent an answer that is too big (the limits are %d KiB, and %d KiB for "
		    "headers)",
		    TRANSPORT_BODY_MAX >> 10, TRANSPORT_HEADERS_MAX >> 10);
	} else if (t->curl == CURLE_UNSUPPORTED_PROTOCOL || t->curl == CURLE_WEIRD_SERVER_REPLY) {
		of_other_api(q, t, ret); /* HTTP without headers, or no HTTP */
	} else if (t->curl) {
		of_network(q, t, ret);
	} else if (t->status >= 300 && t->status < 400) {
		say(q, ret, LLM_REFUSED,
		    "redirects (status %d) to another address%s, which is not followed; if that "
		    "address is right, set CACHEMON_LLM_URL to it",
		    t->status, quote_of(t->elsewhere).s);
	} else if (t->status != 200) {
		wire_error_parse(body, t->len, &error);
		key_mask(&q->key, error.message);
		of_status(q, t->status, &error, ret);
	} else if (wire_reply_parse(q->config->api, body, t->len, ret_reply)) {
		of_other_api(q, t, ret);
	} else if (ret_reply->failed) {
		key_mask(&q->key, ret_reply->error.message);
		of_status(q, ret_reply->error.status ? ret_reply->error.status : t->status,
			  &ret_reply->error, ret);
	} else {
		key_mask(&q->key, ret_reply->text);
		key_mask(&q->key, ret_reply->model);
		key_mask(&q->key, ret_reply->end_said);
		of_reply(q, ret_reply, ret);
	}
}

bool outcome_again(const struct outcome *o, unsigned int tries, uint64_t left_ns, uint32_t random,
		   uint64_t *ret_wait_ns)
{
	/* Random up to a bound that doubles, so that clients that failed together do not retry
	 * together. */
	double bound = (double)(SECOND << (tries < OUTCOME_TRIES ? tries - 1 : 0));

	*ret_wait_ns = o->retry_after_ns >= 0 ? (uint64_t)o->retry_after_ns
					      : (uint64_t)(bound * ((double)random / UINT32_MAX));
	return o->passing && tries < OUTCOME_TRIES && *ret_wait_ns + OUTCOME_LEFT_MIN_NS <= left_ns;
}

bool outcome_is_model(const char *text)
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._:/@+-";
	size_t len = strspn(text, signs);

	return len && len <= MODEL_MAX && !text[len] && !strstr(text, "//");
}
