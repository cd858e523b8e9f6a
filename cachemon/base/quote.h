/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quotes foreign words so that the text is safe to store and show, and a shell (bash, zsh, ksh) can
 * read it back: harmless words stay, others are in '…', and words with control characters,
 * characters that a document escapes, or invalid UTF-8 are in $'…' with \xHH. The result is always
 * UTF-8.
 */
#ifndef QUOTE_H
#define QUOTE_H

#include <stdbool.h>
#include <stddef.h>

int quote_word(const char *word, char **ret_text);

/* All words, separated by single blanks. If longer than max bytes: the whole words that fit,
 * then " ...". */
int quote_words(char *const words[], size_t max, char **ret_text);

/* Whether a shell reads text as plain words: the output of quote_words(), without other shell
 * syntax. */
bool quote_is_words(const char *text);

#endif
