/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/utf8.h"

/* Of a user's note, which may be of any length. Ours are shorter: tests/unit/test_llm_kb.c. */
enum { TEXT_TOKENS_MAX = 250, FIELD_MAX = 400 };

/* Bytes that are no character, and characters that are not only seen, end a word. */
static size_t take(const char *text, size_t len, bool *ret_blank)
{
	uint32_t cp = 0;
	size_t n = utf8_decode(text, len, &cp);

	*ret_blank = !n || cp == ' ' || utf8_is_unsafe(cp);
	return n ? n : 1;
}

char *kb_inert(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_alloc(a, len + 1);
	size_t to = 0;

	for (size_t at = 0; copy && at < len;) {
		bool blank;
		size_t n = take(text + at, len - at, &blank);

		if (!blank) {
			memcpy(copy + to, text + at, n);
			to += n;
		} else if (to && copy[to - 1] != ' ') {
			copy[to++] = ' ';
		}
		at += n;
	}
	if (copy && to && copy[to - 1] == ' ')
		copy[to - 1] = '\0';
	return copy;
}

/* Where to cut a text that is longer than max: at a blank, not within a character. */
static size_t cut_at(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	for (size_t at = max; at > max / 2; at--)
		if (text[at] == ' ')
			return at;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static bool ends_sentence(char c)
{
	return c == '.' || c == '!' || c == '?';
}

/* One field as a sentence. false: no memory. */
static bool put_field(FILE *out, struct arena *a, const char *name, const char *value)
{
	char *text;
	size_t len;

	if (!value || !*value)
		return true;
	text = kb_inert(a, value, strnlen(value, FIELD_MAX * 2));
	if (!text)
		return false;
	len = strlen(text);
	/* The code behind a colon is not sent. */
	if (len && text[len - 1] == ':')
		text[--len] = '\0';
	if (!len)
		return true;
	len = cut_at(text, FIELD_MAX);
	fprintf(out, "%s%s%.*s", ftell(out) ? " " : "", name, (int)len, text);
	if (text[len])
		fputs(" ...", out);
	else if (!ends_sentence(text[len - 1]))
		putc('.', out);
	return true;
}

static const char *text_of(struct arena *a, const struct note *n, int fields)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{"", n->title},	     {"When: ", n->precondition}, {"Do: ", n->action},
		{"Risk: ", n->risk}, {"Check: ", n->verify},
	};
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool whole = out;

	for (int i = 0; i < fields && whole; i++)
		whole = put_field(out, a, all[i].name, all[i].value);
	if (out && fclose(out) != 0)
		whole = false;
	return whole ? arena_bytes(a, text, len).data : NULL;
}

const char *kb_text(struct arena *a, const struct note *note)
{
	const char *text = NULL;

	/* What does not fit loses its last fields. */
	for (int fields = 5; fields > 0; fields--) {
		text = text_of(a, note, fields);
		if (!text || tokens_of(text, strlen(text)) <= TEXT_TOKENS_MAX)
			break;
	}
	return text;
}
