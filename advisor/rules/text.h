/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and words of a text in memory. Owns no memory: pieces are of the text, copies of an arena.
 * lines_next() and span_*() are in text.c.
 */
#ifndef RULES_TEXT_H
#define RULES_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/base/arena.h"

/* A piece of a text. */
struct span {
	const char *at;
	size_t len;
};

struct lines {
	const char *next;
	int number; /* of the line that lines_next() gave last, from 1 */
};

bool lines_next(struct lines *l, struct span *ret);

struct span span_trim(struct span s);
bool span_is(struct span s, const char *text);
bool span_begins(struct span s, const char *text);
/* The texts before the first c and after it, trimmed. false: there is no c. */
bool span_cut(struct span s, char c, struct span *ret_before, struct span *ret_behind);
/* The next word; false: none is left. */
bool span_word(struct span *s, struct span *ret_word);
/* a-z, 0-9, the characters of also, and a letter in front. */
bool span_is_name(struct span s, const char *also);

/* A copy with a NUL; NULL: no memory (remembered in the arena). */
const char *span_copy(struct arena *a, struct span s);

#endif
