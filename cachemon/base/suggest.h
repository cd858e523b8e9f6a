/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "Did you mean …?": the known word nearest to one that is not known.
 */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <stddef.h>

/*
 * The nearest word at most 2 edits away (insert, delete, replace, swap neighbours), the first
 * among equals; else the only one that begins with word; else NULL. A word that would have to
 * change completely is not suggested.
 */
const char *suggest_nearest(const char *word, const char *const *words, size_t nr_words);

/* "did you mean 'NEAR'?", else otherwise: what a message ends with. near NULL: nothing is near. */
struct suggestion {
	char text[512]; /* with a name of a site */
};
struct suggestion suggest_text(const char *near, const char *otherwise);

#endif
