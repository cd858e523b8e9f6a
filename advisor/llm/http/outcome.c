/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/attempt.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

/* Parts of the line, each of its length at most: a host may have 253 bytes. */
enum { HOST_MAX = 100, MODEL_MAX = 64, RETRY_AFTER_MAX_S = 60 };

enum complaint {
	COMPLAINT_NONE,
	COMPLAINT_LONG,
	COMPLAINT_QUOTA,
	COMPLAINT_TOKENS,
	COMPLAINT_FORM
};

/* In this order: the first that fits is meant. The complaints are of llama.cpp's server, OpenAI,
 * Anthropic, vLLM and Ollama. */
static const struct {
	enum complaint complaint;
	int status, or_status;
	const char *word;
} complaints[] = {
	{COMPLAINT_LONG, 413, 413, ""},
	{COMPLAINT_LONG, 400, 422, "exceed_context_size"},
	{COMPLAINT_LONG, 400, 422, "context_length_exceeded"},
	{COMPLAINT_LONG, 400, 422, "maximum context length"},
	{COMPLAINT_LONG, 400, 422, "exceeds the available context"},
	{COMPLAINT_LONG, 400, 422, "exceed context limit"},
	{COMPLAINT_LONG, 400, 422, "exceeds the context"},
	{COMPLAINT_LONG, 400, 422, "prompt is too long"},
	{COMPLAINT_QUOTA, 402, 402, ""},
	{COMPLAINT_QUOTA, 400, 429, "insufficient_quota"},
	{COMPLAINT_QUOTA, 400, 429, "exceeded your current quota"},
	{COMPLAINT_QUOTA, 400, 429, "credit balance is too low"},
	{COMPLAINT_TOKENS, 400, 422, "max_completion_tokens"},
	{COMPLAINT_FORM, 400, 422, "response_format"},
	{COMPLAINT_FORM, 400, 422, "output_config"},
	{COMPLAINT_FORM, 400, 422, "output_format"},
	{COMPLAINT_FORM, 400, 422, "json_object"},
	{COMPLAINT_FORM, 400, 422, "structured output"},
	{COMPLAINT_FORM, 400, 422, "schema"},
	{COMPLAINT_FORM, 400, 422, "grammar"},
	{COMPLAINT_FORM, 400, 422, "generate parser"},
};

static enum complaint complaint_of(int status, const struct wire_error *e)
{
	for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
		const char *word = complaints[i].word;

		if ((status == complaints[i].status || status == complaints[i].or_status) &&
		    (strcasestr(e->message, word) || strcasestr(e->type, word) ||
		     strcasestr(e->code, word) || strcasestr(e->param, word)))
			return complaints[i].complaint;
	}
	return COMPLAINT_NONE;
}

/* ': "what it says"', or nothing. */
struct quote {
	char s[OUTCOME_QUOTE_MAX + 16];
};

static struct quote quote_of(const char *text)
{
	char inert[OUTCOME_QUOTE_MAX + 8];
	struct quote ret = {""};

	if (*text)
		snprintf(ret.s, sizeof(ret.s), ": \"%s\"",
			 utf8_inert(inert, sizeof(inert), text, OUTCOME_QUOTE_MAX));
	return ret;
}

static void say(struct outcome *o, enum llm_outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct outcome *o, enum llm_outcome outcome, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	o->outcome = outcome;
	utf8_inert(o->line, sizeof(o->line), line, OUTCOME_LINE_MAX);
}

/* What libcurl ends with that has words of its own, or that passes. */
static const struct failure {
	int curl;
	bool passing;
	enum llm_outcome outcome;
	const char *what, *more;
} failures[] = {
	{CURLE_PARTIAL_FILE, true, LLM_BROKEN, "the answer was cut on its way", ""},
	{CURLE_COULDNT_RESOLVE_HOST, true, LLM_UNREACHABLE, "cannot be reached", ""},
	{CURLE_COULDNT_CONNECT, true, LLM_UNREACHABLE, "cannot be reached", ""},
	{CURLE_OPERATION_TIMEDOUT, true, LLM_UNREACHABLE, "no answer", ""},
	{CURLE_SSL_CONNECT_ERROR, true, LLM_UNREACHABLE, "cannot be reached", ""},
	{CURLE_GOT_NOTHING, true, LLM_UNREACHABLE, "cannot be reached", ""},
	{CURLE_SEND_ERROR, true, LLM_UNREACHABLE, "cannot be reached", ""},
	{CURLE_RECV_ERROR, true, LLM_UNREACHABLE, "cannot be reached", ""},
	{CURLE_PEER_FAILED_VERIFICATION, false, LLM_UNREACHABLE, "is not trusted",
	 "; a CA of your own is named by CACHEMON_LLM_CA"},
	{CURLE_SSL_CACERT_BADFILE, false, LLM_UNREACHABLE,
	 "the CA file (CACHEMON_LLM_CA) cannot be used", ""},
	{CURLE_SSL_CERTPROBLEM, false, LLM_UNREACHABLE,
	 "the certificate of this side (CACHEMON_LLM_CERT, CACHEMON_LLM_CERT_KEY) cannot be used",
	 ""},
	{0, false, LLM_UNREACHABLE, "cannot be reached", ""},
};

static void of_network(const struct question *q, const struct transport_result *t,
		       struct outcome *o)
{
	struct quote said = quote_of(t->said);
	const struct failure *f = failures;

	while (f->curl && f->curl != t->curl)
		f++;
	o->passing = f->passing;
	if (f->curl == CURLE_OPERATION_TIMEDOUT && t->stalled)
		say(o, f->outcome, "%.*s stopped in the midst of its answer: nothing for %llu s",
		    HOST_MAX, q->endpoint.host, (unsigned long long)(q->stall_ns / SECOND));
	else if (f->curl == CURLE_OPERATION_TIMEDOUT && q->left_ns < OUTCOME_LEFT_MIN_NS)
		say(o, f->outcome, "%.*s did not answer in time, of %.1f s for all of it%s",
		    HOST_MAX, q->endpoint.host, (double)q->limit_ns / (double)SECOND, said.s);
	else
		say(o, f->outcome, "%.*s: %s%s%s", HOST_MAX, q->endpoint.host, f->what, said.s,
		    f->more);
}

static bool is_passing_status(int status)
{
	static const int passing[] = {408, 409, 429, 500, 502, 503, 504, 529};

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (passing[i] == status)
			return true;
	return false;
}

/* What to do about it; "": nothing that is known. */
static const char *advice(const struct question *q, enum complaint complaint, int status)
{
	if (complaint == COMPLAINT_QUOTA)
		return "; its quota is used up";
	if (complaint == COMPLAINT_FORM && q->config->json == LLM_JSON_NONE)
		return "";
	if (complaint == COMPLAINT_FORM)
		return q->config->json == LLM_JSON_SCHEMA && q->config->api == LLM_OPENAI
			       ? "; if it knows no JSON schemas: --llm-json object, or none"
			       : "; if it knows no form of JSON: --llm-json none";
	if (status == 401 || status == 403)
		return q->key.len ? "; is the key right, and one of this endpoint?"
				  : "; no key was sent: set CACHEMON_LLM_KEY or "
				    "CACHEMON_LLM_KEY_FILE";
	return status == 404   ? "; are CACHEMON_LLM_URL and CACHEMON_LLM_MODEL right?"
	       : status == 407 ? "; the proxy wants a user: see http_proxy, https_proxy"
			       : "";
}

static void of_status(const struct question *q, int status, struct wire_error *e, struct outcome *o)
{
	enum complaint complaint = complaint_of(status, e);
	/* Sooner than the server says it is of no use, and much later of none to the user. */
	bool no_time = o->retry_after_ns >= 0 &&
		       ((uint64_t)o->retry_after_ns + OUTCOME_LEFT_MIN_NS > q->left_ns ||
			(uint64_t)o->retry_after_ns > RETRY_AFTER_MAX_S * SECOND);
	struct quote said;

	key_mask(&q->key, e->message, strlen(e->message));
	said = quote_of(e->message);
	o->too_long = complaint == COMPLAINT_LONG;
	o->other_limit = complaint == COMPLAINT_TOKENS && q->config->api == LLM_OPENAI;
	o->passing = complaint != COMPLAINT_QUOTA && is_passing_status(status);
	if (o->too_long)
		say(o, LLM_REFUSED, "the prompt is too long for %.*s (status %d)%s", HOST_MAX,
		    q->endpoint.host, status, said.s);
	else if (o->passing && no_time)
		say(o, LLM_REFUSED,
		    "%.*s refuses (status %d) and asks to wait %llu s, longer than there is time%s",
		    HOST_MAX, q->endpoint.host, status,
		    (unsigned long long)o->retry_after_ns / SECOND, said.s);
	else
		say(o, LLM_REFUSED, "%.*s refuses (status %d)%s%s", HOST_MAX, q->endpoint.host,
		    status, said.s, advice(q, complaint, status));
	o->passing &= !no_time;
}

static bool is_blank(const char *text)
{
	return !text || strspn(text, " \t\r\n") == strlen(text);
}

/* A text is an answer only when it came to its own end. A model's other words are not passed on:
 * nobody has checked them. */
static void of_reply(const struct question *q, const struct wire_reply *r, struct outcome *o)
{
	char model[MODEL_MAX + 4];
	bool is_name = !r->end_said[strspn(r->end_said, "abcdefghijklmnopqrstuvwxyz_")];

	utf8_inert(model, sizeof(model), q->config->model, MODEL_MAX);
	if (r->end == WIRE_END_REFUSAL)
		say(o, LLM_DECLINED, "%s at %.*s declined to answer", model, HOST_MAX,
		    q->endpoint.host);
	else if (r->end == WIRE_END_LENGTH)
		say(o, LLM_BROKEN, "the answer of %s at %.*s was cut at max_tokens (%u)", model,
		    HOST_MAX, q->endpoint.host, q->max_tokens);
	else if (r->end != WIRE_END_STOP)
		say(o, LLM_BROKEN, "%s at %.*s did not end its answer as it should%s", model,
		    HOST_MAX, q->endpoint.host, quote_of(is_name ? r->end_said : "").s);
	else if (is_blank(r->text))
		say(o, LLM_DECLINED, "%s at %.*s said nothing", model, HOST_MAX, q->endpoint.host);
}

static void of_other_api(const struct question *q, const struct transport_result *t,
			 struct outcome *o)
{
	say(o, LLM_BROKEN, "what %.*s answers is not of %s API%s", HOST_MAX, q->endpoint.host,
	    q->config->api == LLM_ANTHROPIC ? "Anthropic's" : "OpenAI's",
	    t->encoded ? ": it is compressed, which was not asked for"
		       : "; is CACHEMON_LLM_URL right?");
}

void outcome_of(const struct question *q, const struct transport_result *t,
		struct wire_reply *ret_reply, struct outcome *ret)
{
	struct wire_error error = {0};
	const char *body = t->body ? t->body : "";
	int status;

	*ret_reply = (struct wire_reply){.tokens_in = -1, .tokens_out = -1};
	*ret = (struct outcome){.outcome = LLM_ANSWERED,
				.retry_after_ns = t->curl ? -1 : t->retry_after_ns};
	if (t->too_big) {
		say(ret, LLM_BROKEN,
		    "the answer of %.*s is too big: more than %d KiB, or %d of headers", HOST_MAX,
		    q->endpoint.host, TRANSPORT_BODY_MAX >> 10, TRANSPORT_HEADERS_MAX >> 10);
	} else if (t->curl == CURLE_UNSUPPORTED_PROTOCOL || t->curl == CURLE_WEIRD_SERVER_REPLY) {
		of_other_api(q, t, ret); /* HTTP without headers, or no HTTP */
	} else if (t->curl) {
		of_network(q, t, ret);
	} else if (t->status >= 300 && t->status < 400) {
		say(ret, LLM_REFUSED,
		    "%.*s sends on (status %d) to another address, which is not followed%s; if "
		    "that is right, put it into CACHEMON_LLM_URL",
		    HOST_MAX, q->endpoint.host, t->status, quote_of(t->elsewhere).s);
	} else if (t->status != 200) {
		wire_error_parse(body, t->len, &error);
		of_status(q, t->status, &error, ret);
	} else if (wire_reply_parse(q->config->api, body, t->len, ret_reply)) {
		of_other_api(q, t, ret);
	} else if (ret_reply->failed) {
		/* Some say the status in the body. */
		if (sscanf(ret_reply->error.code, "%3d", &status) != 1 || status < 400)
			status = t->status;
		of_status(q, status, &ret_reply->error, ret);
	} else {
		of_reply(q, ret_reply, ret);
	}
}

bool outcome_again(const struct outcome *o, unsigned int tries, uint64_t left_ns, uint32_t random,
		   uint64_t *ret_wait_ns)
{
	/* Anything up to a bound that doubles: those who failed together do not come again
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
