/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/say.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "advisor/wire/wire_utf8.h"

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
