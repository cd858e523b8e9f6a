/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text in memory that is written as a file is. Owns the stream and, until it ends, the text.
 * text_print() makes one from a single format.
 */
#ifndef TEXT_BUILDER_H
#define TEXT_BUILDER_H

#include <stdbool.h>
#include <stdio.h>

struct text_builder {
	FILE *out;
	char *text;
	size_t len; /* of the text, once it has ended: it may hold NUL */
};

/* The stream to write to; NULL: no memory, which text_end() reports too. */
FILE *text_begin(struct text_builder *b);
/* The text, for free(); NULL: no memory. */
char *text_end(struct text_builder *b);

/* asprintf(): 0, or -ENOMEM with *ret NULL. */
int text_print(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A copy of now in its place; true: it is another text than before. Without memory it stays. */
bool text_replace(char **text, const char *now);

#endif
