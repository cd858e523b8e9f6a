/* SPDX-License-Identifier: BSD-2-Clause */
/* "Did you mean …?": the known word nearest to an unknown one. */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <stddef.h>

/*
 * The nearest word at most 2 edits away (insert, delete, replace, swap neighbours), the first of
 * equals; else the only one that begins with word; else NULL. Never suggests a word that would need
 * to change completely.
 */
const char *suggest_nearest(const char *word, const char *const *words, size_t nr_words);

/* "did you mean 'NEAR'?", else otherwise: the end of a message. near NULL: no suggestion. */
struct suggestion {
	char text[512]; /* with a site's name */
};
struct suggestion suggest_text(const char *near, const char *otherwise);

#endif
