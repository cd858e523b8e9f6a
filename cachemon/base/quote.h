/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign words as text that is safe to store and show, and that a shell (bash, zsh, ksh) reads
 * back: words of harmless characters as they are, others in '…', those with control characters
 * characters that a document escapes or with bytes that are not UTF-8 in $'…' with \xHH. The result
 * is always UTF-8.
 */
#ifndef QUOTE_H
#define QUOTE_H

#include <stdbool.h>
#include <stddef.h>

int quote_word(const char *word, char **ret_text);

/* All words, by single blanks. Longer than max bytes: whole words that fit, then " ...". */
int quote_words(char *const words[], size_t max, char **ret_text);

/* Whether a shell reads text as words alone: what quote_words() makes, with no other sign of a
 * shell. */
bool quote_is_words(const char *text);

#endif
