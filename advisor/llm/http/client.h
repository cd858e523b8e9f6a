/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One question to a language model over HTTP, and its answer, whatever goes wrong. Only a process
 * that became the invoking user for good (invoker_become()) may ask: root and one with capabilities
 * ask nobody. Owns the attempts and their limits; wire.c has the shapes of two APIs, outcome.c what
 * becomes of an attempt.
 */
#ifndef LLM_HTTP_CLIENT_H
#define LLM_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"

enum llm_api { LLM_OPENAI /* chat completions */, LLM_ANTHROPIC /* messages */ };

/* How the answer is made to be JSON; servers differ in what they know. */
enum llm_json {
	LLM_JSON_SCHEMA, /* the server holds the model to the schema */
	LLM_JSON_OBJECT, /* to JSON; the schema is part of the prompt */
	LLM_JSON_NONE,	 /* the prompt asks for it */
	LLM_JSON_NR
};

extern const char *const llm_api_names[2];	      /* "openai" */
extern const char *const llm_json_names[LLM_JSON_NR]; /* "schema" */

/* As the user configured it (config.c); strings outlive the call. */
struct llm_config {
	const char *url; /* of the API's base, or the whole endpoint */
	const char *model;
	const char *api_name, *json_name; /* as given; NULL: not said */
	enum llm_api api;
	enum llm_json json;
	const char *key_env;  /* name of the variable that holds the key; NULL: none */
	const char *key_file; /* 0600, owned by the user; NULL: none */
	const char *ca_file, *cert_file, *cert_key_file; /* PEM; NULL: the system's, none */
	bool allow_http;				 /* to other hosts than this one */
	uint64_t limit_ns;				 /* for everything; 0: 120 s */
	uint64_t stall_ns; /* between two bytes of an answer; 0: 45 s */
};

struct llm_prompt {
	const char *system, *user;
	const char *schema_name, *schema; /* JSON schema of the answer */
	unsigned int max_tokens;
};

enum llm_outcome {
	LLM_ANSWERED,
	LLM_NOT_CONFIGURED, /* no URL or no model */
	LLM_NOT_ALLOWED,    /* root without a user behind it; plain http to another host; key */
	LLM_UNREACHABLE,    /* network, TLS, refused, stalled, time over */
	LLM_REFUSED,	    /* by the server: key, quota, model, request */
	LLM_BROKEN,	    /* an answer that is cut, too long, or not of the API */
	LLM_DECLINED,	    /* by the model: a refusal, or nothing said */
	LLM_OUTCOME_NR
};

extern const char *const llm_outcome_names[LLM_OUTCOME_NR]; /* "answered" */

struct llm_answer {
	enum llm_outcome outcome;
	char reason[512]; /* when not LLM_ANSWERED: what happened, why, what to do: one inert line
			   */
	char *text;	  /* of the model, UTF-8 is not promised; NULL: none */
	size_t len;
	char host[256];		       /* of the endpoint, with its port where that is said */
	char model[128];	       /* that answered, as the server says; else that was asked */
	int64_t tokens_in, tokens_out; /* as the server says; -1: it does not */
	unsigned int attempts;
	uint64_t duration_ns;
	char warning[256]; /* "": none; as of a server that cut the prompt */
	bool too_long;	   /* LLM_REFUSED because of the prompt's length: a shorter one may pass */
};

/* From here on this process gets no privilege back and leaves no core file: it reads the key. */
void llm_ask(const struct llm_config *config, const struct llm_prompt *prompt,
	     struct llm_answer *ret);
void llm_answer_free(struct llm_answer *a);

/* The body that the first attempt sends, byte for byte; malloc'ed. */
int llm_request_body(const struct llm_config *config, const struct llm_prompt *prompt,
		     char **ret_body, struct errtext *err);

#endif
