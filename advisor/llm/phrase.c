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

bool word_is_one_of(struct word w, const char *list)
{
	struct word one;

	while (word_next(&list, &one))
		if (one.len == w.len && strncasecmp(one.at, w.at, w.len) == 0)
			return true;
	return false;
}

/* Whether the words of the phrase, up to a comma, are those at text. */
static bool begins_with(const char *text, const char *phrase)
{
	const char *end = strchrnul(phrase, ',');
	struct word said, wanted;

	while (phrase < end && word_next(&phrase, &wanted))
		if (!word_next(&text, &said) || said.len != wanted.len ||
		    strncasecmp(said.at, wanted.at, said.len) != 0)
			return false;
	return true;
}

static bool phrase_at(const char *text, const char *list)
{
	for (const char *phrase = list; *phrase; phrase += *phrase == ',') {
		if (begins_with(text, phrase))
			return true;
		phrase = strchrnul(phrase, ',');
	}
	return false;
}

bool phrase_in_any(const char *text, const char *list)
{
	struct word w;

	while (word_next(&text, &w))
		if (phrase_at(w.at, list))
			return true;
	return false;
}
