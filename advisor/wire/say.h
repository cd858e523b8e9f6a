/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one line that is said when there is no answer: what happened, why, what to do. It quotes
 * little of what a server says, and nothing of it acts. Pure.
 */
#ifndef WIRE_SAY_H
#define WIRE_SAY_H

#include "advisor/wire/judge.h"
#include "advisor/wire/policy.h"

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
