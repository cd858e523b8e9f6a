/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/llm/redact_impl.h"

/* Whether a component of a path goes on at. */
static bool goes_on(const char *text, size_t len, size_t at)
{
	if (at >= len || !text[at])
		return false;
	if (is_word_char(text[at]) || (text[at] & 0x80) || strchr("-+@%~=#", text[at]))
		return true;
	return strchr(".:,", text[at]) && at + 1 < len && is_word_char(text[at + 1]);
}

/* Whether a name that begins at begin may end before end. */
static bool may_end(const char *text, size_t len, size_t begin, size_t end)
{
	if (text[begin] == '/' || text[begin] == '~')
		return !goes_on(text, len, end);
	return end >= len || !is_word_char(text[end - 1]) || !is_word_char(text[end]);
}

static bool may_begin(const char *text, size_t at)
{
	return !at || !is_word_char(text[at - 1]) || !is_word_char(text[at]);
}

/* The longest name at, and how much of the text it is. It does not reach into an alias, which is
 * one thing whatever its letters. */
uint32_t name_at(const struct redact *r, const char *text, size_t len, size_t at, size_t *ret_len)
{
	uint32_t node = 0, found = NO_NAME;
	size_t used;

	if (!may_begin(text, at))
		return NO_NAME;
	for (size_t i = at; i < len; i++) {
		if (text[i] == '<' && alias_at(r, text + i, len - i, &used) != NO_NAME)
			break;
		node = tree_step(&r->tree, node, (unsigned char)text[i]);
		if (!node)
			break;
		if (r->tree.nodes[node].name != NO_NAME && may_end(text, len, at, i + 1)) {
			found = r->tree.nodes[node].name;
			*ret_len = i + 1 - at;
		}
	}
	return found;
}

size_t system_path_at(const char *text, size_t len, size_t at)
{
	size_t end;

	if (text[at] != '/' || !path_begins(text, len, at))
		return 0;
	end = path_end(text, len, at);
	return path_is_of_system(text + at, end - at) ? end : 0;
}

/* Whether a name stands in a text that everybody has: then it says nothing of this machine. */
bool name_is_public(const struct redact *r, const char *name, size_t name_len)
{
	for (size_t i = 0; i < r->nr_texts; i++) {
		const char *text = r->texts[i].data, *hit = text;
		size_t len = r->texts[i].len;

		while ((hit = memmem(hit, len - (size_t)(hit - text), name, name_len))) {
			size_t at = (size_t)(hit - text);

			if (may_begin(text, at) && may_end(text, len, at, at + name_len))
				return true;
			hit++;
		}
	}
	return false;
}
