/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that are written in English words. Pure. */
#ifndef LLM_WORDS_H
#define LLM_WORDS_H

#include "advisor/llm/quantity.h"

enum words_kind {
	WORDS_NONE,   /* no number begins there, or only "one" */
	WORDS_NUMBER, /* ret has it */
	WORDS_VAGUE,  /* a number that cannot be held against any: "dozens", "two point five" */
};

/* The number that the words at text, where a word begins, say; ret_len: how much of text they are,
 * one word at least. */
enum words_kind words_parse(const char *text, struct quantity *ret, size_t *ret_len);

#endif
