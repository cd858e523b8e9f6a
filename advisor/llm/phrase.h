/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of a text, whatever stands between them and however they are written. Owns no memory. */
#ifndef LLM_PHRASE_H
#define LLM_PHRASE_H

#include <stdbool.h>
#include <stddef.h>

struct word {
	const char *at;
	size_t len;
};

/* The next run of letters and digits at *at or behind, which then is behind it. */
bool word_next(const char **at, struct word *ret);
/* Whether a word is this one of small letters. */
bool word_is(struct word w, const char *text);
/* Whether it is one of the list, "sudo rm echo". */
bool word_is_one_of(struct word w, const char *list);
/* Whether one of the list, "git clone, docker run", stands in a text: its words in a row. */
bool phrase_in_any(const char *text, const char *list);

#endif
