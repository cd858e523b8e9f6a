/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The abilities of a terminal: rewriting lines, the width of text, and characters beyond
 * ASCII (by the locale).
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A terminal that can rewrite a line. */
bool terminal_rewrites(FILE *out);
/* Another job of the shell owns the terminal, so this one must not rewrite its lines. Also false
 * for a terminal that does not control this session. */
bool terminal_in_background(FILE *out);
size_t terminal_columns(FILE *out);
/* The width that the terminal itself reports, independent of $COLUMNS; false: none. */
bool terminal_size(FILE *out, size_t *ret_columns, size_t *ret_rows);
/* The width of text lines: $COLUMNS, else the terminal's, else 80; always 80 in a file. */
int terminal_text_width(FILE *out);
/* Whether the user's locale has UTF-8, whatever locale the program itself uses. */
bool terminal_locale_is_utf8(void);
/* Whether out is a terminal and the locale has no UTF-8. */
bool terminal_is_ascii(FILE *out);
/* The same for plain text, which follows the locale in a pipe and in a file too. A stream in memory
 * is UTF-8. */
bool terminal_text_is_ascii(FILE *out);
enum { TERMINAL_PLAIN_MAX = 12 };
/* A character in ASCII: "->", "3" for a bar of three eighths, or its number, "\u00e9". */
void terminal_plain(uint32_t cp, char ret[TERMINAL_PLAIN_MAX]);
/* A stream that takes UTF-8 and writes ASCII to out. Closing it does not close out. NULL: no
 * memory. */
FILE *terminal_plain_stream(FILE *out);
/* Clears the line with the cursor. */
void terminal_clear_line(FILE *out);

#endif
