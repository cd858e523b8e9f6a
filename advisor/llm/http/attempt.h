/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One attempt at a question. transport.c makes one HTTP request with libcurl, limited in time and
 * bytes; it follows no redirect, decompresses nothing, and sends the key to the endpoint only.
 * outcome.c turns the result into an answer or a one-line error, and decides whether to retry. It
 * is pure: time and randomness are parameters.
 */
#ifndef LLM_HTTP_ATTEMPT_H
#define LLM_HTTP_ATTEMPT_H

#include "advisor/llm/http/config.h"
#include "advisor/llm/http/wire.h"

enum { TRANSPORT_BODY_MAX = 4 << 20, TRANSPORT_HEADERS_MAX = 64 << 10 };

/* A question, for all its attempts. */
struct question {
	const struct llm_config *config;
	struct endpoint endpoint;
	struct key key; /* masked in every text of the server */
	unsigned int max_tokens;
	uint64_t limit_ns; /* time limit for all attempts */
	uint64_t stall_ns; /* between two bytes of a body */
	uint64_t left_ns;  /* time left of the limit, at the start or end of an attempt */
};

struct transport_result {
	int curl;	/* CURLcode; CURLE_OPERATION_TIMEDOUT for a stall too */
	int status;	/* HTTP status; 0: none */
	char said[256]; /* libcurl's error text */
	char *body;	/* NUL-terminated; NULL: no bytes came */
	size_t len;
	bool too_big, stalled, encoded;
	int64_t retry_after_ns; /* -1: not given */
	char elsewhere[256];	/* host of a redirect; "": none */
};

/* body: NUL-terminated. 0 for any result of the request; -ENOMEM. Free the result. */
int transport_do(const struct question *q, const char *body, struct transport_result *ret);
void transport_result_free(struct transport_result *r);

/* Retry-After: seconds, or an HTTP date relative to now (seconds since 1970). -1: neither. */
int64_t transport_retry_after_ns(const char *value, int64_t now);

enum {
	OUTCOME_LINE_MAX = 500,
	OUTCOME_QUOTE_MAX = 120,
	OUTCOME_TRIES = 3, /* attempts of the same request */
};

/* With less time left, no attempt is started. */
#define OUTCOME_LEFT_MIN_NS UINT64_C(250000000)

struct outcome {
	enum llm_outcome outcome;
	char line[OUTCOME_LINE_MAX + 1]; /* "": it is an answer */
	bool passing;			 /* a retry may succeed */
	bool too_long;			 /* the prompt */
	bool other_limit;		 /* max_tokens is refused: the server uses the other name */
	int64_t retry_after_ns;		 /* -1: not given */
};

/* reply: the body of a response with status 200; free it. */
void outcome_of(const struct question *q, const struct transport_result *t,
		struct wire_reply *ret_reply, struct outcome *ret);

/* Whether to retry after this many tries, and how long to wait. random: any number. */
bool outcome_again(const struct outcome *o, unsigned int tries, uint64_t left_ns, uint32_t random,
		   uint64_t *ret_wait_ns);

/* Whether the model name of a server looks like a name ("org/model-7b:q4") and not like a
 * sentence. */
bool outcome_is_model(const char *text);

#endif
