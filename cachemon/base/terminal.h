/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a terminal can do: lines that are rewritten in place, how wide text may be ($COLUMNS), and
 * whether it shows more than ASCII, which the locale says.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A terminal that can rewrite a line. */
bool terminal_rewrites(FILE *out);
/* Another job of the shell has the terminal: what is there is not this one's to rewrite. false also
 * for a terminal that does not control this session. */
bool terminal_in_background(FILE *out);
size_t terminal_columns(FILE *out);
/* What the terminal itself reports, whatever $COLUMNS is; false: it does not. */
bool terminal_size(FILE *out, size_t *ret_columns, size_t *ret_rows);
/* How wide lines of text are: $COLUMNS, else 80, which they always are in a file. */
int terminal_text_width(FILE *out);
/* Whether the user's locale has UTF-8, whatever the program itself runs in. */
bool terminal_locale_is_utf8(void);
/* Whether out is a terminal, or a pager on one, whose locale has no UTF-8. */
bool terminal_is_ascii(FILE *out);
enum { TERMINAL_PLAIN_MAX = 12 };
/* A character in ASCII: "->", "3" for a bar of three eighths, or its number, "\u00e9". */
void terminal_plain(uint32_t cp, char ret[TERMINAL_PLAIN_MAX]);
/* A stream that writes to out what it is given in UTF-8, in ASCII. To be closed, which leaves out
 * open. NULL: no memory. */
FILE *terminal_plain_stream(FILE *out);
/* The line that the cursor is on is gone. */
void terminal_clear_line(FILE *out);

#endif
