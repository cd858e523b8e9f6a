/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The object of an answer, and the statements in it, out of text as it comes. Owns the one way in
 * which they are found: for a stream that is cut anywhere and for a whole answer. It reads no more
 * of JSON than where strings, objects and arrays begin and end; cJSON reads what it finds.
 */
#ifndef LLM_SPLIT_H
#define LLM_SPLIT_H

#include "advisor/llm/check.h"

enum { SPLIT_TEXT_MAX = 4 << 20, SPLIT_DEPTH_MAX = 32, SPLIT_STATEMENT_MAX = 64 * 1024 };

/* Where in all that came the object is, when it is whole. */
struct split_object {
	size_t begin, end;
	size_t others; /* things between the statements that are none */
};

/* false: it is not whole, or not there. */
bool llm_split_object(const struct llm_split *s, struct split_object *ret);

#endif
