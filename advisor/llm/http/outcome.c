/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/outcome.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "advisor/llm/http/wire.h"

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
	{COMPLAINT_STREAM, 400, 422, "stream_options"},
	{COMPLAINT_FORM, 400, 422, "response_format"},
	{COMPLAINT_FORM, 400, 422, "output_config"},
	{COMPLAINT_FORM, 400, 422, "output_format"},
	{COMPLAINT_FORM, 400, 422, "json_schema"},
	{COMPLAINT_FORM, 400, 422, "json_object"},
	{COMPLAINT_FORM, 400, 422, "structured output"},
	{COMPLAINT_FORM, 400, 422, "schema"},
	{COMPLAINT_FORM, 400, 422, "grammar"},
	{COMPLAINT_FORM, 400, 422, "generate parser"},
	{COMPLAINT_PARSE, 500, 500, "peg-native"},
	{COMPLAINT_PARSE, 500, 500, "failed to parse"},
	{COMPLAINT_PARSE, 500, 500, "does not match the expected"},
};

static bool says(const struct wire_error *e, const char *word)
{
	return strcasestr(e->message, word) || strcasestr(e->type, word) ||
	       strcasestr(e->code, word) || strcasestr(e->param, word);
}

enum complaint complaint_of(int status, const struct wire_error *error)
{
	for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
		if (status != complaints[i].status && status != complaints[i].or_status)
			continue;
		if (!*complaints[i].word || (error && says(error, complaints[i].word)))
			return complaints[i].complaint;
	}
	return COMPLAINT_NONE;
}

/* A text is an answer only when it came to its own end. */
static enum verdict_kind of_reply(const struct transport_result *t, const struct wire_reply *r)
{
	if (r->refusal[0] || r->end == WIRE_END_REFUSAL)
		return VERDICT_REFUSAL;
	if (r->end == WIRE_END_NONE)
		return t->streamed ? VERDICT_CUT : VERDICT_NO_STOP;
	if (r->end == WIRE_END_LENGTH)
		return VERDICT_LENGTH;
	if (r->end == WIRE_END_OTHER)
		return VERDICT_NO_STOP;
	for (size_t i = 0; i < r->len; i++)
		if (r->text[i] != ' ' && r->text[i] != '\n' && r->text[i] != '\r' &&
		    r->text[i] != '\t')
			return VERDICT_ANSWERED;
	return VERDICT_EMPTY;
}

static enum verdict_kind of_body(enum llm_api api, const struct transport_result *t,
				 struct wire_reply *r, struct verdict *v)
{
	int err = t->streamed ? t->piece_said : wire_whole(api, t->body ? t->body : "", t->len, r);

	if (r->failed) {
		v->has_error = true;
		v->error = r->error;
		v->status = r->error.status ? r->error.status : v->status;
		return VERDICT_STATUS;
	}
	return err < 0 ? VERDICT_NOT_API : of_reply(t, r);
}

/* Something answers that speaks another protocol (HTTP without headers is none either). */
static bool is_no_http(int curl)
{
	return curl == CURLE_UNSUPPORTED_PROTOCOL || curl == CURLE_WEIRD_SERVER_REPLY;
}

struct verdict judge(enum llm_api api, const struct transport_result *t, struct wire_reply *reply)
{
	struct verdict v = {.curl = t->curl, .status = t->status};

	if (t->too_big)
		v.kind = VERDICT_TOO_BIG;
	else if (t->curl)
		v.kind = is_no_http(t->curl) ? VERDICT_NOT_API : VERDICT_NETWORK;
	else if (t->status >= 300 && t->status < 400)
		v.kind = VERDICT_ELSEWHERE;
	else if (t->status == 200)
		v.kind = of_body(api, t, reply, &v);
	else
		v.kind = VERDICT_STATUS;
	if (v.kind == VERDICT_STATUS && !v.has_error && t->body)
		v.has_error = !wire_error_parse(t->body, t->len, &v.error);
	if (v.kind == VERDICT_STATUS)
		v.complaint = complaint_of(v.status, v.has_error ? &v.error : NULL);
	return v;
}

#define SECOND UINT64_C(1000000000)

enum { WAIT_MAX_S = 8, RETRY_AFTER_MAX_S = 60 };

static bool is_passing_status(int status)
{
	switch (status) {
	case 408:
	case 409:
	case 429:
	case 500:
	case 502:
	case 503:
	case 504:
	case 529:
		return true;
	default:
		return false;
	}
}

static bool is_passing_failure(int curl)
{
	switch (curl) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return true;
	default:
		return false;
	}
}

static bool may_pass(struct policy *p, const struct verdict *v)
{
	bool again;

	switch (v->kind) {
	case VERDICT_CUT:
		return true;
	case VERDICT_NETWORK:
		return is_passing_failure(v->curl);
	case VERDICT_STATUS:
		if (v->complaint == COMPLAINT_QUOTA || !is_passing_status(v->status))
			return false;
		/* A model that does not write what its server expects seldom does the next time. */
		again = v->complaint != COMPLAINT_PARSE || !p->parse_failed;
		p->parse_failed |= v->complaint == COMPLAINT_PARSE;
		return again;
	default:
		return false;
	}
}

/* To what the server takes; false: it complains of nothing that can be written in another way. */
static bool step(struct wire_shape *s, enum complaint complaint)
{
	switch (complaint) {
	case COMPLAINT_TOKENS:
		if (s->completion_tokens || s->api != LLM_OPENAI)
			return false;
		s->completion_tokens = true;
		return true;
	case COMPLAINT_STREAM:
		if (!s->stream)
			return false;
		s->stream = false;
		return true;
	default:
		return false;
	}
}

/* Anything up to a bound that doubles, so that those who failed together do not come again
 * together. */
static uint64_t jitter(unsigned int tries, uint32_t random)
{
	uint64_t bound = tries < 4 ? SECOND << (tries - 1) : WAIT_MAX_S * SECOND;

	return (uint64_t)((double)bound * ((double)random / UINT32_MAX));
}

struct policy_next policy_after(struct policy *p, const struct verdict *v, int64_t retry_after_ns,
				uint64_t left_ns, uint32_t random)
{
	struct policy_next next = {.act = POLICY_END};

	if (v->kind == VERDICT_STATUS && left_ns >= POLICY_LEFT_MIN_NS &&
	    step(&p->shape, v->complaint)) {
		next.act = POLICY_AGAIN;
		return next;
	}
	p->tries++;
	if (!may_pass(p, v) || p->tries >= POLICY_TRIES)
		return next;
	next.wait_ns = v->kind == VERDICT_STATUS && retry_after_ns >= 0 ? (uint64_t)retry_after_ns
									: jitter(p->tries, random);
	/* Sooner than the server says it is of no use, and much later of none to the user. */
	next.no_time = next.wait_ns + POLICY_LEFT_MIN_NS > left_ns ||
		       next.wait_ns > RETRY_AFTER_MAX_S * SECOND;
	if (!next.no_time)
		next.act = POLICY_AGAIN;
	return next;
}

#define SECOND UINT64_C(1000000000)

/* Parts of the line, each of its length at most: a host may have 253 bytes. */
enum { HOST_MAX = 100, MODEL_MAX = 64 };

enum llm_outcome say_outcome(const struct verdict *v)
{
	switch (v->kind) {
	case VERDICT_ANSWERED:
		return LLM_ANSWERED;
	case VERDICT_NETWORK:
		return v->curl == CURLE_PARTIAL_FILE ? LLM_BROKEN : LLM_UNREACHABLE;
	case VERDICT_STATUS:
	case VERDICT_ELSEWHERE:
		return LLM_REFUSED;
	case VERDICT_REFUSAL:
	case VERDICT_EMPTY:
		return LLM_DECLINED;
	default:
		return LLM_BROKEN;
	}
}

struct words {
	char host[HOST_MAX + 4], model[MODEL_MAX + 4], quote[SAY_QUOTE_MAX + 16];
};

/* ': "what it says"', or nothing. */
static void quote(char *to, size_t size, const char *text)
{
	char inert[SAY_QUOTE_MAX + 8];

	*to = '\0';
	if (*text)
		snprintf(to, size, ": \"%s\"",
			 utf8_inert(inert, sizeof(inert), text, strlen(text), SAY_QUOTE_MAX));
}

/* "tool_calls": a name, and no words that a model could have put there. */
static void quote_name(char *to, size_t size, const char *text)
{
	bool is_name = strspn(text, "abcdefghijklmnopqrstuvwxyz_") == strlen(text);

	quote(to, size, is_name ? text : "");
}

static void say_network(const struct say_facts *f, const struct words *w, char *to, size_t size)
{
	const struct transport_result *t = f->transport;
	char said[SAY_QUOTE_MAX + 16];

	quote(said, sizeof(said), t->said);
	switch (t->curl) {
	case CURLE_PARTIAL_FILE:
		snprintf(to, size, "the answer of %s was cut on its way, %zu bytes of it came%s",
			 w->host, t->len, said);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		if (t->stalled)
			snprintf(to, size,
				 "%s stopped in the midst of its answer: nothing for %llu s",
				 w->host, (unsigned long long)(f->stall_ns / SECOND));
		else if (f->time_over)
			snprintf(to, size, "%s did not answer in time, of %.1f s for all of it%s",
				 w->host, (double)f->limit_ns / (double)SECOND, said);
		else
			snprintf(to, size, "%s did not answer%s", w->host, said);
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		snprintf(to, size,
			 "%s is not trusted%s; a CA of your own is named by CACHEMON_LLM_CA",
			 w->host, said);
		break;
	case CURLE_SSL_CACERT_BADFILE:
		snprintf(to, size, "the CA file (CACHEMON_LLM_CA) cannot be used%s", said);
		break;
	case CURLE_SSL_CERTPROBLEM:
		snprintf(to, size,
			 "the certificate of this side (CACHEMON_LLM_CERT, CACHEMON_LLM_CERT_KEY) "
			 "cannot be used%s",
			 said);
		break;
	default:
		snprintf(to, size, "%s cannot be reached%s", w->host, said);
	}
}

static const char *advice(int status, bool with_key)
{
	switch (status) {
	case 401:
	case 403:
		return with_key ? "; is the key right, and one of this endpoint?"
				: "; no key was sent: set CACHEMON_LLM_KEY or "
				  "CACHEMON_LLM_KEY_FILE";
	case 404:
		return "; are CACHEMON_LLM_URL and CACHEMON_LLM_MODEL right?";
	case 407:
		return "; the proxy wants a user: see http_proxy, https_proxy";
	default:
		return "";
	}
}

/* What to ask for where a server does not know how JSON was asked for. */
static const char *plainer(const struct llm_config *config)
{
	if (config->json == LLM_JSON_NONE)
		return "";
	return config->json == LLM_JSON_SCHEMA && config->api == LLM_OPENAI
		       ? "; if it knows no JSON schemas: --llm-json object, or none"
		       : "; if it knows no form of JSON: --llm-json none";
}

static void say_status(const struct say_facts *f, const struct words *w, char *to, size_t size)
{
	const struct verdict *v = f->verdict;
	const struct wire_error *e = &v->error;

	if (v->complaint == COMPLAINT_LONG && v->has_error && e->tokens >= 0 && e->context >= 0) {
		snprintf(to, size,
			 "the prompt is too long for %s at %s (status %d): %lld tokens of %lld",
			 w->model, w->host, v->status, (long long)e->tokens, (long long)e->context);
		return;
	}
	if (v->complaint == COMPLAINT_LONG) {
		snprintf(to, size, "the prompt is too long for %s at %s (status %d)%s", w->model,
			 w->host, v->status, w->quote);
		return;
	}
	if (f->next->no_time && f->retry_after_ns >= 0) {
		uint64_t wait = (uint64_t)f->retry_after_ns / SECOND;

		snprintf(to, size,
			 "%s refuses (status %d) and asks to wait %llu s, longer than there is "
			 "time%s",
			 w->host, v->status, (unsigned long long)wait, w->quote);
		return;
	}
	snprintf(to, size, "%s refuses (status %d)%s%s", w->host, v->status, w->quote,
		 v->complaint == COMPLAINT_QUOTA  ? "; its quota is used up"
		 : v->complaint == COMPLAINT_FORM ? plainer(f->config)
						  : advice(v->status, f->with_key));
}

static void say_other(const struct say_facts *f, const struct words *w, char *to, size_t size)
{
	char more[SAY_QUOTE_MAX + 16];

	switch (f->verdict->kind) {
	case VERDICT_ELSEWHERE:
		quote(more, sizeof(more), f->transport->elsewhere);
		snprintf(to, size,
			 "%s sends on (status %d) to another address, which is not followed%s; if "
			 "that is right, put it into CACHEMON_LLM_URL",
			 w->host, f->verdict->status, more);
		break;
	case VERDICT_TOO_BIG:
		snprintf(to, size,
			 "the answer of %s is too big: more than %d KiB, or %d of headers", w->host,
			 TRANSPORT_BODY_MAX >> 10, TRANSPORT_HEADERS_MAX >> 10);
		break;
	case VERDICT_CUT:
		snprintf(to, size, "the answer of %s was cut on its way: its stream has no end",
			 w->host);
		break;
	case VERDICT_LENGTH:
		snprintf(to, size,
			 "the answer of %s at %s was cut at max_tokens (%u): it is not whole",
			 w->model, w->host, f->max_tokens);
		break;
	case VERDICT_NO_STOP:
		quote_name(more, sizeof(more), f->reply->end_said);
		snprintf(to, size, "%s at %s did not end its answer as it should%s", w->model,
			 w->host, more);
		break;
	case VERDICT_REFUSAL:
		/* In a model's own words, which nobody has checked. */
		snprintf(to, size, "%s at %s declined to answer", w->model, w->host);
		break;
	case VERDICT_EMPTY:
		snprintf(to, size, "%s at %s said nothing", w->model, w->host);
		break;
	default:
		snprintf(to, size, "what %s answers is not of %s API%s", w->host,
			 f->config->api == LLM_ANTHROPIC ? "Anthropic's" : "OpenAI's",
			 f->transport->encoded ? ": it is compressed, which was not asked for"
					       : "; is CACHEMON_LLM_URL right?");
	}
}

bool say_is_model(const char *text)
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._:/@+-";
	size_t len = strspn(text, signs);

	return len && len <= MODEL_MAX && !text[len] && !strstr(text, "//");
}

void say_reason(const struct say_facts *f, char *ret, size_t size)
{
	struct words w;
	char line[1024] = "";
	size_t len;

	utf8_inert(w.host, sizeof(w.host), f->host, strlen(f->host), HOST_MAX);
	utf8_inert(w.model, sizeof(w.model), f->config->model, strlen(f->config->model), MODEL_MAX);
	quote(w.quote, sizeof(w.quote), f->verdict->has_error ? f->verdict->error.message : "");
	if (f->verdict->kind == VERDICT_NETWORK)
		say_network(f, &w, line, sizeof(line));
	else if (f->verdict->kind == VERDICT_STATUS)
		say_status(f, &w, line, sizeof(line));
	else
		say_other(f, &w, line, sizeof(line));
	len = strlen(line);
	if (f->attempts > 1 && len < sizeof(line))
		snprintf(line + len, sizeof(line) - len, " (after %u attempts)", f->attempts);
	utf8_inert(ret, size, line, strlen(line), SAY_MAX);
}
