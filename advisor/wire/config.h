/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a user says which model to ask: CACHEMON_LLM_URL, _MODEL, _API, _KEY, _KEY_FILE, and options
 * of the command line on top. Owns the precedence and the checks that need no network. A key is
 * never copied: its place is.
 */
#ifndef WIRE_CONFIG_H
#define WIRE_CONFIG_H

#include "advisor/wire/client.h"

/* Gives a variable of the environment, NULL: not set; for tests. */
typedef const char *(*config_variable)(void *arg, const char *name);

/* Which of the choices the command line has. */
struct llm_given {
	bool api, json;
};

/* What is not set on the command line is NULL or false there. -EINVAL with a text: an API, a form
 * of JSON or a URL that is none. No URL or no model is no error here: llm_ask() says it. */
int llm_config_make(const struct llm_config *options, struct llm_given given,
		    config_variable variable, void *arg, struct llm_config *ret,
		    struct errtext *err);

#endif
