/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns a pack into a prompt: the instructions, the data as lines of text, and the JSON schema of
 * the answer, which allows only keys that were sent. Owns the layout of the data and the word that
 * reveals an echo of the instructions. Pure.
 */
#ifndef LLM_PROMPT_H
#define LLM_PROMPT_H

#include <stddef.h>

#include "advisor/llm/pack.h"
#include "cachemon/base/errtext.h"

struct prompt {
	char *system, *user, *schema;
	size_t tokens; /* tokens of all three parts, estimated high */
};

/* Occurs in the instructions, and in no honest answer. */
#define PROMPT_CANARY "vellumheron"

/* 0 or -ENOMEM. */
int prompt_make(const struct pack *pack, struct prompt *ret, struct errtext *err);
void prompt_free(struct prompt *p);

#endif
