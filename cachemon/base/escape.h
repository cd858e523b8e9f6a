/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names are hostile: any bytes but NUL in a path, anything at all in a database from elsewhere.
 * Owns the one place where bytes become text. Each output format adds its own markup escapes
 * on top (doc_*.c, csv.c, tree_*.c); none of them sees a control character that is not its own.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Length of the character at s and its code point, or 0 when s is not valid UTF-8. */
size_t escape_decode(const char *s, size_t len, uint32_t *ret_cp);
/* The UTF-8 of a code point, with a NUL after it. */
void escape_encode(uint32_t cp, char ret[5]);
bool escape_is_utf8(const char *s, size_t len);
/* Characters that act on a terminal or on the direction of text instead of being seen. */
bool escape_is_unsafe(uint32_t cp);

/* For data formats: valid UTF-8 as it is; otherwise each bad byte as \xHH and each backslash as
 * \x5c, and true is returned. */
bool escape_data(FILE *out, const char *s, size_t len);
/* For people: as escape_data(), and unsafe characters are made visible (\x1b, \u202e). The
 * result holds no unsafe character, so applying it twice changes nothing. */
void escape_inert(FILE *out, const char *s, size_t len);
/* Likewise line by line, each ended, tabs at its beginning as blanks. */
void escape_lines(FILE *out, const char *text);
/* The same as escape_inert() into a buffer, cut when it does not fit. */
void escape_inert_to(char *buf, size_t size, const char *s);
/* A copy, of "-" where s is NULL; NULL: no memory. */
char *escape_inert_copy(const char *s, size_t len);

#endif
