/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The request and reply formats of two APIs: OpenAI's chat completions and Anthropic's messages.
 * Pure; owns no decision on how to handle a reply. Replies are untrusted: strings are unchanged,
 * except for the NUL at their end.
 */
#ifndef LLM_HTTP_WIRE_H
#define LLM_HTTP_WIRE_H

#include "advisor/llm/http/client.h"

/* completion_tokens: use "max_completion_tokens", because "max_tokens" was refused. 0 or -ENOMEM.
 * malloc'ed, NUL-terminated; always UTF-8 (escape_data()), if the schema is. */
int wire_request(const struct llm_config *config, const struct llm_prompt *prompt,
		 bool completion_tokens, char **ret_body);

/* A server's error, in any of the known formats. */
struct wire_error {
	char message[1024]; /* "": not given */
	char type[64], code[64], param[64];
	int status; /* HTTP status, if the code is one; else 0 */
};

enum wire_end {
	WIRE_END_NONE,	 /* not said */
	WIRE_END_STOP,	 /* the answer is complete */
	WIRE_END_LENGTH, /* cut at the token limit */
	WIRE_END_REFUSAL,
	WIRE_END_OTHER
};

struct wire_reply {
	char *text; /* NULL: failed */
	size_t len;
	enum wire_end end;
	char end_said[32]; /* as the server words it */
	char model[128];
	int64_t tokens_in, tokens_out; /* -1: not given */
	bool failed; /* error is set: the reply has an error instead of an answer */
	struct wire_error error;
};

/* Parses the body of a reply with status 200; free ret in any case. -EBADMSG:
 * not in the API's format; -ENOMEM. */
int wire_reply_parse(enum llm_api api, const char *bytes, size_t len, struct wire_reply *ret);
void wire_reply_free(struct wire_reply *r);

/* Parses the body of a reply with another status. -EBADMSG: not understood; ret is unchanged. */
int wire_error_parse(const char *bytes, size_t len, struct wire_error *ret);

#endif
