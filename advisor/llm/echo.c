/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "advisor/llm/phrase.h"

enum { ECHO_WORDS = 12 };

/* What speaks of the instructions, or of the one who words, and not of the run. */
static const char phrases[] =
	"previous instructions, prior instructions, above instructions, "
	"earlier instructions, these instructions, my instructions, your instructions, "
	"the instructions, new instructions, system prompt, this prompt, the prompt, "
	"language model, as an ai, an ai model, ai assistant, json schema, the schema, "
	"placeholder, placeholders, reference word, i cannot, i can t, i am unable, "
	"i will not, i was told, i was asked, i am told, i am asked, untrusted, jailbreak, "
	"developer mode";

/* How many words in a row are the same at both places. */
static size_t same_words(const char *a, const char *b)
{
	struct word x, y;
	size_t nr = 0;

	while (nr < ECHO_WORDS && word_next(&a, &x) && word_next(&b, &y) && x.len == y.len &&
	       strncasecmp(x.at, y.at, x.len) == 0)
		nr++;
	return nr;
}

static bool repeats(const char *instructions, const char *text)
{
	struct word said, told;

	while (word_next(&text, &said)) {
		const char *at = instructions;

		while (word_next(&at, &told))
			if (same_words(told.at, said.at) >= ECHO_WORDS)
				return true;
	}
	return false;
}

bool echo_in(const struct pack *p, const char *text)
{
	if (p->canary && *p->canary && strcasestr(text, p->canary))
		return true;
	if (phrase_in_any(text, phrases))
		return true;
	return p->instructions && repeats(p->instructions, text);
}
