/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text in columns of a terminal: how many it takes, and where its lines end. By the C library's
 * table of widths, which wants a UTF-8 locale.
 */
#ifndef REPORT_WRAP_H
#define REPORT_WRAP_H

#include <stdio.h>

/* In columns. */
int wrap_width(const char *s);
void wrap_pad(FILE *out, int blanks);
/* Text in lines of width, each but the first behind indent blanks. No line ends in a blank. */
void wrap_put(FILE *out, const char *s, int width, int indent);

#endif
