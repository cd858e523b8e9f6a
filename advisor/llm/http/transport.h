/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One HTTP request by libcurl, bounded in time and in bytes: no redirect is followed, nothing is
 * decompressed, a key goes to the endpoint only. Owns no decision on what the reply means.
 */
#ifndef LLM_HTTP_TRANSPORT_H
#define LLM_HTTP_TRANSPORT_H

#include "advisor/llm/http/client.h"
#include "advisor/llm/http/config.h"
#include "advisor/llm/http/key.h"

enum { TRANSPORT_BODY_MAX = 4 << 20, TRANSPORT_HEADERS_MAX = 64 << 10 };

struct transport_call {
	const struct llm_config *config;
	const struct endpoint *endpoint;
	const struct key *key;
	const char *body;  /* NUL-terminated */
	uint64_t left_ns;  /* for all of it */
	uint64_t stall_ns; /* between two bytes of the body */
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

/* 0 whatever comes of it; -ENOMEM. The result is to be freed. */
int transport_do(const struct transport_call *call, struct transport_result *ret);
void transport_result_free(struct transport_result *r);

/* Retry-After: seconds, or a date of HTTP against now (seconds since 1970). -1: neither. */
int64_t transport_retry_after_ns(const char *value, int64_t now);

#endif
