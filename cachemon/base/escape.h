/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names are untrusted: a path may have any byte except NUL, and a foreign database anything. Owns
 * the only conversion from bytes to text. Each output format adds its own markup escapes (doc_*.c,
 * csv.c, tree_*.c); none of them gets control characters from foreign text.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Length and code point of the character at s; 0 if s is not valid UTF-8. */
size_t escape_decode(const char *s, size_t len, uint32_t *ret_cp);
/* The UTF-8 of a code point, with a NUL after it. */
void escape_encode(uint32_t cp, char ret[5]);
bool escape_is_utf8(const char *s, size_t len);
/* Characters that affect a terminal or the direction of text instead of being visible. */
bool escape_is_unsafe(uint32_t cp);

/* For data formats: valid UTF-8 stays unchanged; otherwise each bad byte becomes \xHH, each
 * backslash \x5c, and the result is true. */
bool escape_data(FILE *out, const char *s, size_t len);
/* For people: as escape_data(), and unsafe characters are made visible (\x1b, \u202e). The
 * result holds no unsafe character, so applying it twice changes nothing. */
void escape_inert(FILE *out, const char *s, size_t len);
/* The same for each line, ended with a newline; leading tabs become blanks. */
void escape_lines(FILE *out, const char *text);
/* The same as escape_inert() into a buffer, truncated if it does not fit. */
void escape_inert_to(char *buf, size_t size, const char *s);
/* A copy of s, or of "-" if s is NULL. NULL: no memory. */
char *escape_inert_copy(const char *s, size_t len);

#endif
