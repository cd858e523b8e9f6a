/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/suggest.h"

#include <stdio.h>
#include <string.h>

enum { EDITS_MAX = 2, WORD_MAX = 63 };

static size_t min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance: three rows suffice for neighbour swaps. */
static size_t edits(const char *a, size_t len_a, const char *b, size_t len_b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *older = rows[0], *old = rows[1], *row = rows[2];

	for (size_t j = 0; j <= len_b; j++)
		old[j] = older[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		size_t *spare = older;

		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			size_t d = old[j - 1] + (a[i - 1] != b[j - 1]);

			d = min2(d, min2(old[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = min2(d, older[j - 2] + 1);
			row[j] = d;
		}
		older = old;
		old = row;
		row = spare;
	}
	return old[len_b];
}

static const char *only_with_prefix(const char *word, size_t len, const char *const *words,
				    size_t nr_words)
{
	const char *found = NULL;

	for (size_t i = 0; i < nr_words; i++) {
		if (strncmp(words[i], word, len) != 0)
			continue;
		if (found)
			return NULL;
		found = words[i];
	}
	return found;
}

const char *suggest_nearest(const char *word, const char *const *words, size_t nr_words)
{
	size_t len = strlen(word), best = EDITS_MAX + 1;
	const char *found = NULL;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < nr_words; i++) {
		size_t len_i = strlen(words[i]), d;

		if (len_i > WORD_MAX)
			continue;
		d = edits(word, len, words[i], len_i);
		if (d < best && d < len) {
			best = d;
			found = words[i];
		}
	}
	return found ? found : only_with_prefix(word, len, words, nr_words);
}

struct suggestion suggest_text(const char *near, const char *otherwise)
{
	struct suggestion s;

	if (near)
		snprintf(s.text, sizeof(s.text), "did you mean '%s'?", near);
	else
		snprintf(s.text, sizeof(s.text), "%s", otherwise);
	return s;
}
