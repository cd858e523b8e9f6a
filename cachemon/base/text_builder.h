/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds a text in memory through a stream. Owns the stream and, until text_end(), the text.
 * text_print() builds one from a single format.
 */
#ifndef TEXT_BUILDER_H
#define TEXT_BUILDER_H

#include <stdbool.h>
#include <stdio.h>

#include "cachemon/base/arena.h"

struct text_builder {
	FILE *out;
	char *text;
	size_t len; /* length of the finished text, which may contain NUL */
};

/* The stream; NULL: no memory, which text_end() reports too. */
FILE *text_begin(struct text_builder *b);
/* The text, to be freed; NULL: no memory. */
char *text_end(struct text_builder *b);

/* The text in an arena; NULL sets a->failed. */
const char *text_end_in(struct text_builder *b, struct arena *a);

/* asprintf(): 0, or -ENOMEM with *ret NULL. */
int text_print(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Replaces the text by a copy of now; true: it changed. On -ENOMEM it stays. */
bool text_replace(char **text, const char *now);

#endif
