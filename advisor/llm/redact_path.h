/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths in any text: where they begin and end, which of them every machine has, and which endings
 * of file names may stay. Owns those lists. Pure.
 */
#ifndef LLM_REDACT_PATH_H
#define LLM_REDACT_PATH_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether a character belongs to a word. */
static inline bool redact_path_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether a path may begin at `at`: "/x" or "~/x", not in the middle of a word. */
bool redact_path_begins(const char *text, size_t len, size_t at);
/* The end of the path at `at`, without punctuation of the sentence. */
size_t redact_path_end(const char *text, size_t len, size_t at);
/* The end of a path that every machine has; 0: none begins at `at`. */
size_t redact_path_system_end(const char *text, size_t len, size_t at);
/* Whether a path needs an alias: not "/", "~", or a path of every machine. */
bool redact_path_needs_alias(const char *path, size_t len);
/* Length of the part of a file name to keep: an ending that is usual for data files. */
size_t redact_path_ending(const char *base, size_t len);

#endif
