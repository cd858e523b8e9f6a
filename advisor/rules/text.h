/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and words of a text in memory. Owns no memory: pieces point into the text, copies into an
 * arena. lines_next() and span_*() are in text.c.
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
	int number; /* number of the last line from lines_next(), from 1 */
};

bool lines_next(struct lines *l, struct span *ret);

struct span span_trim(struct span s);
bool span_is(struct span s, const char *text);
bool span_begins(struct span s, const char *text);
/* The texts before and after the first c, trimmed. false: no c. */
bool span_cut(struct span s, char c, struct span *ret_before, struct span *ret_behind);
/* The next word; false: no more words. */
bool span_word(struct span *s, struct span *ret_word);
/* A letter, then a-z, 0-9 and the characters of `also`. */
bool span_is_name(struct span s, const char *also);

/* A copy with a NUL; NULL: no memory (noted in the arena). */
const char *span_copy(struct arena *a, struct span s);

#endif
