/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an attempt came to, in a line where it is no answer, and whether another may fare better: of
 * what the network said, the status and the reply; in the words of a server where there is no other
 * way to know. Pure: time and chance are handed in.
 */
#ifndef LLM_HTTP_OUTCOME_H
#define LLM_HTTP_OUTCOME_H

#include "advisor/llm/http/transport.h"
#include "advisor/llm/http/wire.h"

enum {
	OUTCOME_LINE_MAX = 500,
	OUTCOME_QUOTE_MAX = 120,
	OUTCOME_TRIES = 3, /* of the same request */
};

/* No attempt is begun with less than this. */
#define OUTCOME_LEFT_MIN_NS UINT64_C(250000000)

/* Of the question. */
struct outcome_context {
	const struct llm_config *config;
	const char *host;      /* inert */
	const struct key *key; /* is masked in what a server says */
	unsigned int max_tokens;
	uint64_t limit_ns, stall_ns;
	uint64_t left_ns; /* of the limit */
};

struct outcome {
	enum llm_outcome outcome;
	char line[OUTCOME_LINE_MAX + 4]; /* inert; "": it is an answer */
	bool passing;			 /* another attempt may fare better */
	bool too_long;			 /* the prompt */
	bool other_limit;		 /* max_tokens is refused: it has another name there */
	int64_t retry_after_ns;		 /* -1: the server says nothing */
};

/* reply: of a body with status 200; to be freed. */
void outcome_of(const struct outcome_context *c, const struct transport_result *t,
		struct wire_reply *ret_reply, struct outcome *ret);

/* Whether to try again after so many tries, and after which wait. random: any. */
bool outcome_again(const struct outcome *o, unsigned int tries, uint64_t left_ns, uint32_t random,
		   uint64_t *ret_wait_ns);

/* Whether what a server calls its model is a name, as "org/model-7b:q4", and no sentence. */
bool outcome_is_model(const char *text);

#endif
