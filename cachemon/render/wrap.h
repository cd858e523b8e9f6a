/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and code in lines of limited width, counted in columns of a terminal. Owns where a line may
 * be broken. */
#ifndef RENDER_WRAP_H
#define RENDER_WRAP_H

#include <stdio.h>

/* In columns. */
int wrap_width(const char *s);
void wrap_pad(FILE *out, int n);
/* Text in lines of width; all except the first are indented. No line ends in a blank. */
void wrap_put(FILE *out, const char *s, int width, int indent);
/* Indented lines. Only those of a shell are wrapped: in other languages, half of a line would mean
 * something else. */
void wrap_code(FILE *out, const char *language, const char *text, int width);

#endif
