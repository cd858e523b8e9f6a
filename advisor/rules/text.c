/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/text.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool lines_next(struct lines *l, struct span *ret)
{
	const char *end;

	if (!*l->next)
		return false;
	end = strchr(l->next, '\n');
	ret->at = l->next;
	ret->len = end ? (size_t)(end - l->next) : strlen(l->next);
	l->next = end ? end + 1 : l->next + ret->len;
	l->number++;
	return true;
}

struct span span_trim(struct span s)
{
	while (s.len && is_blank(s.at[0])) {
		s.at++;
		s.len--;
	}
	while (s.len && is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

bool span_begins(struct span s, const char *text)
{
	return s.len >= strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

bool span_cut(struct span s, char c, struct span *ret_before, struct span *ret_behind)
{
	const char *at = s.len ? memchr(s.at, c, s.len) : NULL;

	if (!at)
		return false;
	*ret_before = span_trim((struct span){s.at, (size_t)(at - s.at)});
	*ret_behind = span_trim((struct span){at + 1, s.len - (size_t)(at - s.at) - 1});
	return true;
}

bool span_word(struct span *s, struct span *ret_word)
{
	size_t len = 0;

	*s = span_trim(*s);
	while (len < s->len && !is_blank(s->at[len]))
		len++;
	*ret_word = (struct span){s->at, len};
	s->at += len;
	s->len -= len;
	return len > 0;
}

bool span_is_name(struct span s, const char *also)
{
	if (!s.len || s.at[0] < 'a' || s.at[0] > 'z')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.at[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (!c || !strchr(also, c)))
			return false;
	}
	return true;
}

const char *span_copy(struct arena *a, struct span s)
{
	return arena_bytes(a, s.at, s.len).data;
}
