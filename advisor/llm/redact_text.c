/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/redact_impl.h"
#include "cachemon/base/cleanup.h"

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

/* The name at, or that of a path which nobody added; NO_NAME: there is none. */
static uint32_t take_name(struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len, bool *ret_failed)
{
	bool is_path = text[at] == '/' || text[at] == '~';
	size_t used = 0, end;
	uint32_t name = redact_find_name(r, text, len, at, &used);
	enum name_kind kind;

	*ret_len = used;
	if (!is_path || (name == NO_NAME && !redact_path_begins(text, len, at)))
		return name;
	end = redact_path_end(text, len, at + used);
	if (name != NO_NAME && (end < at + used + 2 || text[at + used] != '/'))
		return name;
	if (end < at + 2)
		return NO_NAME;
	kind = end < len && text[end] == '/' ? NAME_DIRECTORY : NAME_PATH;
	name = redact_path(r, kind, text + at, end - at);
	*ret_failed = name == NO_NAME;
	*ret_len = end - at;
	return name;
}

static int put_whole(struct redact *r, uint32_t name, FILE *out)
{
	uint32_t directory = r->names[name].directory;

	if (directory == NO_NAME) {
		fwrite(r->names[name].text, 1, r->names[name].base, out);
	} else {
		if (put_whole(r, directory, out)) /* as deep as the path is */
			return -1;
		putc('/', out);
	}
	if (redact_alias_give(r, name))
		return -1;
	redact_alias_put(&r->names[name], out);
	return 0;
}

/* used: of the text; a file's own name is shorter than its path. */
static int put_alias(struct redact *r, uint32_t name, size_t used, FILE *out)
{
	if (used == r->names[name].len)
		return put_whole(r, name, out);
	if (redact_alias_give(r, name))
		return -1;
	redact_alias_put(&r->names[name], out);
	return 0;
}

static int put_redacted(struct redact *r, const char *text, size_t len, FILE *out)
{
	size_t at = 0, used = 0, past = 0;
	bool failed = false;

	while (at < len) {
		uint32_t name = NO_NAME;

		if (text[at] == '<' && redact_alias_at(r, text + at, len - at, &used) != NO_NAME) {
			fwrite(text + at, 1, used, out);
			at += used;
			continue;
		}
		if (at >= past)
			past = redact_find_system(text, len, at);
		if (at >= past)
			name = take_name(r, text, len, at, &used, &failed);
		else if (text[at] != '/' && text[at] != '~')
			name = redact_find_name(r, text, len, at, &used);
		if (failed || (name != NO_NAME && put_alias(r, name, used, out)))
			return -1;
		if (name == NO_NAME)
			putc(text[at], out);
		at += name == NO_NAME ? 1 : used;
	}
	return 0;
}

/* Hands the text of a stream to an arena. */
static const char *finish(struct arena *a, FILE *out, char *const *text, const size_t *len,
			  bool failed)
{
	const char *copy = NULL;

	if (fclose(out) == 0 && !failed)
		copy = arena_bytes(a, *text, *len).data;
	free(*text);
	return copy;
}

static const char *one_pass(struct redact *r, struct arena *a, const char *text, size_t len)
{
	char *made = NULL;
	size_t made_len = 0;
	FILE *out = open_memstream(&made, &made_len);
	bool failed;

	if (!out)
		return NULL;
	failed = put_redacted(r, text, len, out);
	return finish(a, out, &made, &made_len, failed);
}

/* Again until nothing changes: a path that was learned may stand before the place where it was, and
 * what went on with one that is an alias now ends there. */
const char *redact_text(struct redact *r, struct arena *a, const char *text, size_t len)
{
	const char *made, *before = NULL;

	if (!r->on)
		return arena_bytes(a, text, len).data;
	made = one_pass(r, a, text, len);
	while (made && (!before || strcmp(made, before) != 0)) {
		before = made;
		made = one_pass(r, a, made, strlen(made));
	}
	return made;
}

const char *redact_restore(const struct redact *r, struct arena *a, const char *text)
{
	size_t len = strlen(text), made_len = 0, used = 0;
	char *made = NULL;
	FILE *out;

	if (!r->on)
		return arena_bytes(a, text, len).data;
	out = open_memstream(&made, &made_len);
	if (!out)
		return NULL;
	for (size_t at = 0; at < len; at += used) {
		uint32_t name = redact_alias_at(r, text + at, len - at, &used);

		if (name == NO_NAME) {
			putc(text[at], out);
			used = 1;
			continue;
		}
		fwrite(r->names[name].text + r->names[name].base, 1,
		       r->names[name].len - r->names[name].base, out);
	}
	return finish(a, out, &made, &made_len, false);
}

bool redact_knows(const struct redact *r, const char *alias, size_t len)
{
	size_t used;

	return redact_alias_at(r, alias, len, &used) != NO_NAME && used == len;
}

const char *redact_left(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0, past = 0;

	for (size_t at = 0; at < len; at++) {
		uint32_t name = NO_NAME;

		if (text[at] == '<' && redact_alias_at(r, text + at, len - at, &used) != NO_NAME) {
			at += used - 1;
			continue;
		}
		if (at >= past)
			past = redact_find_system(text, len, at);
		if (at >= past || (text[at] != '/' && text[at] != '~'))
			name = redact_find_name(r, text, len, at, &used);
		if (name != NO_NAME && !redact_find_public(r, text + at, used))
			return r->names[name].text;
	}
	return NULL;
}
