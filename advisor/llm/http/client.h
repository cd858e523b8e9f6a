/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends one question to a language model over HTTP and returns its answer or an error. Only a
 * process that permanently became the invoking user (invoker_become()) may do so; root and
 * processes with capabilities may not. Owns the attempts and their limits; wire.c has the formats
 * of two APIs, outcome.c judges an attempt.
 */
#ifndef LLM_HTTP_CLIENT_H
#define LLM_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"

enum llm_api { LLM_OPENAI /* chat completions */, LLM_ANTHROPIC /* messages */ };

/* How the model is made to answer in JSON; servers differ in what they support. */
enum llm_json {
	LLM_JSON_SCHEMA, /* the server enforces the schema */
	LLM_JSON_OBJECT, /* the server enforces JSON; the prompt has the schema */
	LLM_JSON_NONE,	 /* only the prompt asks for it */
	LLM_JSON_NR
};

extern const char *const llm_api_names[2];	      /* "openai" */
extern const char *const llm_json_names[LLM_JSON_NR]; /* "schema" */

/* The user's configuration (config.c); strings outlive the call. */
struct llm_config {
	const char *url; /* URL of the API's base or of its endpoint */
	const char *model;
	const char *api_name, *json_name; /* as given; NULL: not given */
	enum llm_api api;
	enum llm_json json;
	const char *key_env;  /* name of the variable with the key; NULL: none */
	const char *key_file; /* file with the key, 0600, owned by the user; NULL: none */
	const char *ca_file, *cert_file, *cert_key_file; /* PEM file; NULL: the system's
							  * certificates */
	bool allow_http;				 /* allows plain HTTP to other hosts than
							  * this one */
	uint64_t limit_ns;				 /* time limit for all attempts; 0: 120 s */
	uint64_t stall_ns; /* between two bytes of an answer; 0: 45 s */
};

struct llm_prompt {
	const char *system, *user;
	const char *schema_name, *schema; /* JSON schema of the answer, sent as it is */
	unsigned int max_tokens;
};

enum llm_outcome {
	LLM_ANSWERED,
	LLM_NOT_CONFIGURED, /* no URL or no model */
	LLM_NOT_ALLOWED,    /* root without a sudo user; plain HTTP to another host; key */
	LLM_UNREACHABLE,    /* network, TLS, refused, stalled, timed out */
	LLM_REFUSED,	    /* the server refused: key, quota, model, request */
	LLM_BROKEN,	    /* the answer is cut, too long, or not in the API's format */
	LLM_DECLINED,	    /* the model declined, or gave an empty answer */
	LLM_OUTCOME_NR
};

extern const char *const llm_outcome_names[LLM_OUTCOME_NR]; /* "answered" */

struct llm_answer {
	enum llm_outcome outcome;
	char reason[512]; /* unless LLM_ANSWERED: what happened, why, what to do; one printable line
			   */
	char *text;	  /* the model's text, perhaps not UTF-8; NULL: none */
	size_t len;
	char host[256];		       /* the endpoint's host, with the port if given */
	char model[128];	       /* as the server reports it; else the requested model */
	int64_t tokens_in, tokens_out; /* as the server reports it; -1: not reported */
	unsigned int attempts;
	uint64_t duration_ns;
	char warning[256]; /* "": none; for example that the server cut the prompt */
	bool too_long;	   /* LLM_REFUSED because of its length: a shorter prompt may pass */
};

/* Drops all privileges for good and disables core files, because this process reads the key. */
void llm_ask(const struct llm_config *config, const struct llm_prompt *prompt,
	     struct llm_answer *ret);
void llm_answer_free(struct llm_answer *a);

#endif
