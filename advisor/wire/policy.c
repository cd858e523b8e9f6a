/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/policy.h"

#include <curl/curl.h>

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
