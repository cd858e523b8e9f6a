/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/phrase.h"

#include <ctype.h>
#include <string.h>

bool word_next(const char **at, struct word *ret)
{
	const char *c = *at, *begin;

	while (*c && !isalnum((unsigned char)*c))
		c++;
	begin = c;
	while (isalnum((unsigned char)*c))
		c++;
	*ret = (struct word){begin, (size_t)(c - begin)};
	*at = c;
	return ret->len > 0;
}

bool word_is(struct word w, const char *text)
{
	size_t i = 0;

	while (i < w.len && text[i] == tolower((unsigned char)w.at[i]))
		i++;
	return i == w.len && !text[i];
}

bool word_is_one_of(struct word w, const char *const *list)
{
	for (; *list; list++)
		if (word_is(w, *list))
			return true;
	return false;
}

/* Whether the words of the phrase are those at text. */
static bool begins_with(const char *text, const char *phrase)
{
	struct word said, wanted;

	while (word_next(&phrase, &wanted)) {
		char word[32];

		if (wanted.len >= sizeof(word) || !word_next(&text, &said))
			return false;
		memcpy(word, wanted.at, wanted.len);
		word[wanted.len] = '\0';
		if (!word_is(said, word))
			return false;
	}
	return true;
}

bool phrase_in(const char *text, const char *phrase)
{
	struct word w;

	while (word_next(&text, &w))
		if (begins_with(w.at, phrase))
			return true;
	return false;
}

bool phrase_in_any(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (phrase_in(text, *list))
			return true;
	return false;
}
