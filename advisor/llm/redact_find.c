/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/llm/redact_impl.h"

/* Whether a component of a path goes on at. */
static bool goes_on(const char *text, size_t len, size_t at)
{
	if (at >= len || !text[at])
		return false;
	if (redact_is_word(text[at]) || (text[at] & 0x80) || strchr("-+@%~=#", text[at]))
		return true;
	return strchr(".:,", text[at]) && at + 1 < len && redact_is_word(text[at + 1]);
}

/* Whether a name that begins at begin may end before end. */
static bool may_end(const char *text, size_t len, size_t begin, size_t end)
{
	if (text[begin] == '/' || text[begin] == '~')
		return !goes_on(text, len, end);
	return end >= len || !redact_is_word(text[end - 1]) || !redact_is_word(text[end]);
}

static bool may_begin(const char *text, size_t at)
{
	return !at || !redact_is_word(text[at - 1]) || !redact_is_word(text[at]);
}

/* The longest name at, and how much of the text it is. It does not reach into an alias, which is
 * one thing whatever its letters. */
uint32_t redact_find_name(const struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len)
{
	uint32_t node = 0, found = NO_NAME;
	size_t used;

	if (!may_begin(text, at))
		return NO_NAME;
	for (size_t i = at; i < len; i++) {
		if (text[i] == '<' && redact_alias_at(r, text + i, len - i, &used) != NO_NAME)
			break;
		node = redact_tree_step(&r->tree, node, (unsigned char)text[i]);
		if (!node)
			break;
		if (r->tree.nodes[node].name != NO_NAME && may_end(text, len, at, i + 1)) {
			found = r->tree.nodes[node].name;
			*ret_len = i + 1 - at;
		}
	}
	return found;
}

size_t redact_find_system(const char *text, size_t len, size_t at)
{
	size_t end;

	if (text[at] != '/' || !redact_path_begins(text, len, at))
		return 0;
	end = redact_path_end(text, len, at);
	return redact_path_is_of_system(text + at, end - at) ? end : 0;
}

/* Whether a name stands in a text that everybody has: then it says nothing of this machine. */
bool redact_find_public(const struct redact *r, const char *name, size_t name_len)
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
