/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an attempt came to, what follows it, and what is said when nothing does: of what the network
 * said, the status and the reply; in the words of a server where there is no other way to know.
 * Pure: time and chance are handed in.
 */
#ifndef LLM_HTTP_OUTCOME_H
#define LLM_HTTP_OUTCOME_H

#include "advisor/llm/http/transport.h"
#include "advisor/llm/http/wire.h"

enum complaint {
	COMPLAINT_NONE,
	COMPLAINT_LONG,	  /* the prompt does not fit */
	COMPLAINT_TOKENS, /* max_tokens: another name is wanted */
	COMPLAINT_STREAM, /* stream_options */
	COMPLAINT_FORM,	  /* the way JSON was asked for */
	COMPLAINT_QUOTA,  /* paid for no more: waiting does not help */
	COMPLAINT_PARSE	  /* the server cannot read its own model's output */
};

/* status: of the reply; error NULL: nothing understood. */
enum complaint complaint_of(int status, const struct wire_error *error);

enum verdict_kind {
	VERDICT_ANSWERED,
	VERDICT_NETWORK,   /* see curl */
	VERDICT_STATUS,	   /* see status: other than 200, or told in the body of one with 200 */
	VERDICT_ELSEWHERE, /* the server sends on */
	VERDICT_TOO_BIG,   /* a body or headers beyond the limit */
	VERDICT_NOT_API,   /* what came is not of the API */
	VERDICT_CUT,	   /* a stream that ends before its answer does */
	VERDICT_LENGTH,	   /* an answer cut at the number of tokens allowed */
	VERDICT_NO_STOP,   /* one that ended for another reason than being complete */
	VERDICT_REFUSAL,
	VERDICT_EMPTY
};

struct verdict {
	enum verdict_kind kind;
	int curl;   /* CURLcode */
	int status; /* HTTP's */
	bool has_error;
	struct wire_error error;
	enum complaint complaint;
};

/* reply: of a stream, what its events gave; of others it is filled from the body here. */
struct verdict judge(enum llm_api api, const struct transport_result *t, struct wire_reply *reply);

enum {
	POLICY_TRIES = 3, /* of the same request */
	POLICY_STEPS = 2, /* to another name of the limit, and to no stream; these are no tries */
};

struct policy {
	struct wire_shape shape; /* of the next attempt */
	unsigned int tries;
	bool parse_failed;
};

/* No attempt is begun with less than this. */
#define POLICY_LEFT_MIN_NS UINT64_C(250000000)

enum policy_act { POLICY_END, POLICY_AGAIN };

struct policy_next {
	enum policy_act act;
	uint64_t wait_ns;
	bool no_time; /* it would be tried again, but the wait does not fit into what is left */
};

/* retry_after_ns: -1: the server says nothing. random: any. */
struct policy_next policy_after(struct policy *p, const struct verdict *v, int64_t retry_after_ns,
				uint64_t left_ns, uint32_t random);

enum { SAY_MAX = 500, SAY_QUOTE_MAX = 120 };

struct say_facts {
	const struct llm_config *config;
	const char *host; /* inert */
	bool with_key;
	unsigned int max_tokens, attempts;
	uint64_t limit_ns, stall_ns;
	const struct transport_result *transport;
	const struct wire_reply *reply;
	const struct verdict *verdict;
	const struct policy_next *next;
	int64_t retry_after_ns;
	bool time_over; /* nothing is left of the limit */
};

enum llm_outcome say_outcome(const struct verdict *v);

/* Whether what a server calls its model is a name, as "org/model-7b:q4", and no sentence. */
bool say_is_model(const char *text);

/* Of what is not VERDICT_ANSWERED. */
void say_reason(const struct say_facts *f, char *ret, size_t size);

#endif
