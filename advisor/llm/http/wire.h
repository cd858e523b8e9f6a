/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shapes of two APIs, OpenAI's chat completions and Anthropic's messages: bodies of requests
 * and of replies. Pure; owns no decision on what to do about a reply. All that is parsed was made
 * by somebody else: strings here are as they came, but for NUL at their end.
 */
#ifndef LLM_HTTP_WIRE_H
#define LLM_HTTP_WIRE_H

#include "advisor/llm/http/client.h"

struct wire_shape {
	enum llm_api api;
	enum llm_json json;
	bool completion_tokens; /* "max_completion_tokens" where "max_tokens" is refused */
};

/* -EINVAL: the schema is no JSON. malloc'ed, NUL-terminated; always UTF-8 (escape_data()). */
int wire_request(const struct wire_shape *shape, const char *model, const struct llm_prompt *prompt,
		 char **ret_body);

/* What a server says is wrong, in any of the shapes seen. */
struct wire_error {
	char message[1024]; /* "": it does not say */
	char type[64], code[64], param[64];
	int status; /* HTTP's, where the code is one; 0: it is not */
};

enum wire_end {
	WIRE_END_NONE,	 /* not said */
	WIRE_END_STOP,	 /* said all it had to say */
	WIRE_END_LENGTH, /* cut at the number of tokens allowed */
	WIRE_END_REFUSAL,
	WIRE_END_OTHER
};

struct wire_reply {
	char *text; /* NULL: failed */
	size_t len;
	enum wire_end end;
	char end_said[32]; /* as the server words it */
	char model[128];
	int64_t tokens_in, tokens_out; /* -1: not said */
	bool failed;		       /* error is set: an error where an answer should be */
	struct wire_error error;
};

/* The body of a reply with status 200; to be freed whatever this returns. -EBADMSG: not of the API;
 * -ENOMEM. */
int wire_reply_parse(enum llm_api api, const char *bytes, size_t len, struct wire_reply *ret);
void wire_reply_free(struct wire_reply *r);

/* The body of a reply with another status. -EBADMSG: says nothing that is understood; ret is
 * untouched then. */
int wire_error_parse(const char *bytes, size_t len, struct wire_error *ret);

#endif
