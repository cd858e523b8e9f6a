/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One attempt at a question. transport.c makes one HTTP request by libcurl, bounded in time and in
 * bytes. It follows no redirect and decompresses nothing, and the key goes to the endpoint only.
 * outcome.c says what it came to, in a line if it is no answer, and whether to try again. It is
 * pure: time and chance are handed in.
 */
#ifndef LLM_HTTP_ATTEMPT_H
#define LLM_HTTP_ATTEMPT_H

#include "advisor/llm/http/config.h"
#include "advisor/llm/http/wire.h"

enum { TRANSPORT_BODY_MAX = 4 << 20, TRANSPORT_HEADERS_MAX = 64 << 10 };

/* A question, over all its attempts. */
struct question {
	const struct llm_config *config;
	struct endpoint endpoint;
	struct key key; /* is masked in what a server says */
	unsigned int max_tokens;
	uint64_t limit_ns; /* for all of it */
	uint64_t stall_ns; /* between two bytes of a body */
	uint64_t left_ns;  /* of the limit, when an attempt begins or when it is over */
};

struct transport_result {
	int curl;	/* CURLcode; CURLE_OPERATION_TIMEDOUT also of a stall */
	int status;	/* HTTP's; 0: none came */
	char said[256]; /* by libcurl, of an error */
	char *body;	/* NUL-terminated, whatever came; NULL: nothing */
	size_t len;
	bool too_big, stalled, encoded;
	int64_t retry_after_ns; /* -1: not said */
	char elsewhere[256];	/* host that a redirect names; "": none */
};

/* body: NUL-terminated. 0 whatever comes of it; -ENOMEM. The result is to be freed. */
int transport_do(const struct question *q, const char *body, struct transport_result *ret);
void transport_result_free(struct transport_result *r);

/* Retry-After: seconds, or a date of HTTP against now (seconds since 1970). -1: neither. */
int64_t transport_retry_after_ns(const char *value, int64_t now);

enum {
	OUTCOME_LINE_MAX = 500,
	OUTCOME_QUOTE_MAX = 120,
	OUTCOME_TRIES = 3, /* of the same request */
};

/* No attempt is begun with less than this. */
#define OUTCOME_LEFT_MIN_NS UINT64_C(250000000)

struct outcome {
	enum llm_outcome outcome;
	char line[OUTCOME_LINE_MAX + 1]; /* "": it is an answer */
	bool passing;			 /* another attempt may fare better */
	bool too_long;			 /* the prompt */
	bool other_limit;		 /* max_tokens is refused: it has another name there */
	int64_t retry_after_ns;		 /* -1: the server says nothing */
};

/* reply: of a body with status 200; to be freed. */
void outcome_of(const struct question *q, const struct transport_result *t,
		struct wire_reply *ret_reply, struct outcome *ret);

/* Whether to try again after so many tries, and after which wait. random: any. */
bool outcome_again(const struct outcome *o, unsigned int tries, uint64_t left_ns, uint32_t random,
		   uint64_t *ret_wait_ns);

/* Whether what a server calls its model is a name, as "org/model-7b:q4", and no sentence. */
bool outcome_is_model(const char *text);

#endif
