/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/redact.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/redact_path.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

/* A name as it occurs in texts. */
struct name {
	enum name_kind kind;
	const char *text;
	size_t len;
	size_t base;	    /* start of the file's own name in text; an alias replaces it */
	size_t ending;	    /* length of the kept ending, ".tar" */
	uint32_t directory; /* for a file: the name before base, or NO_NAME if that is not a name */
	uint32_t number;    /* number of the alias; 0: not used yet */
};

enum { NO_NAME = UINT32_MAX, NAME_MIN = 3 };

/* The key of a name: its text, or a file's own name. */
struct key {
	const char *text;
	size_t len;
	uint32_t name;
};

struct redact {
	bool on;
	struct arena arena;
	struct name *names;
	size_t nr, room;
	struct key *keys; /* sorted by bytes */
	size_t nr_keys, room_keys;
	uint32_t numbers[NAME_NR]; /* the last of each kind */
	struct bytes *texts;	   /* public texts */
	size_t nr_texts, room_texts;
};

static const char *const kinds[NAME_NR] = {
	[NAME_PATH] = "file",	    [NAME_DIRECTORY] = "dir", [NAME_JOB] = "job",
	[NAME_USER] = "user",	    [NAME_HOST] = "host",     [NAME_CGROUP] = "cgroup",
	[NAME_COMMAND] = "command",
};

/* The number of keys that are not greater than a text. */
static size_t keys_upto(const struct redact *r, const char *text, size_t len)
{
	size_t low = 0, high = r->nr_keys;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct key *k = &r->keys[middle];
		int order = memcmp(k->text, text, k->len < len ? k->len : len);

		if (order < 0 || (!order && k->len <= len))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t find_key_of(const struct redact *r, const char *text, size_t len)
{
	size_t at = keys_upto(r, text, len);
	const struct key *k = at ? &r->keys[at - 1] : NULL;

	return k && k->len == len && !memcmp(k->text, text, len) ? k->name : NO_NAME;
}

/* Keeps an existing key. */
static void add_key(struct redact *r, const char *text, size_t len, uint32_t name)
{
	size_t at = keys_upto(r, text, len);

	if (find_key_of(r, text, len) != NO_NAME)
		return;
	if (vec_reserve(r->keys, r->room_keys, r->nr_keys + 1)) {
		r->arena.failed = true;
		return;
	}
	memmove(r->keys + at + 1, r->keys + at, (r->nr_keys++ - at) * sizeof(*r->keys));
	r->keys[at] = (struct key){text, len, name};
}

struct redact *redact_new(bool on)
{
	struct redact *r = calloc(1, sizeof(*r));

	if (r)
		r->on = on;
	return r;
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	arena_free(&r->arena);
	free(r->keys);
	free(r->texts);
	free(r->names);
	free(r);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_path(const char *name)
{
	return *name == '/' || *name == '~';
}

/* "E12": the form of a pack's keys. */
static bool is_key(const char *name, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (!is_digit(name[i]))
			return false;
	return strchr("EFNA", name[0]);
}

/* Whether a name can be distinguished from other words; two letters or a number cannot. */
static bool is_word(const char *name, size_t len)
{
	bool letter = false;

	for (size_t i = 0; i < len; i++)
		letter |= (name[i] & 0x80) || (redact_path_word(name[i]) && !is_digit(name[i]));
	return len >= NAME_MIN && letter && !is_key(name, len);
}

/* Whether to look for a file's own name without its directory; not if it could be any word. */
static bool is_own_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] < 'a' || name[i] > 'z')
			return is_word(name, len);
	return false;
}

/* The name of a path or a word, added if it is new; NO_NAME: no memory. */
static uint32_t take_text(struct redact *r, enum name_kind kind, const char *text, size_t len)
{
	struct name n = {kind, NULL, len, 0, 0, NO_NAME, 0};
	uint32_t name = find_key_of(r, text, len);
	bool is_file = kind == NAME_PATH;

	if (name != NO_NAME && r->names[name].len == len)
		return name;
	if (is_file && is_path(text))
		for (n.base = len; n.base && text[n.base - 1] != '/';)
			n.base--;
	if (n.base && redact_path_needs_alias(text, n.base - 1))
		n.directory = take_text(r, NAME_DIRECTORY, text, n.base - 1);
	if (is_file)
		n.ending = redact_path_ending(text + n.base, len - n.base);
	n.text = arena_bytes(&r->arena, text, len).data;
	name = (uint32_t)r->nr;
	if (r->arena.failed || r->nr >= NO_NAME || vec_reserve(r->names, r->room, r->nr + 1)) {
		r->arena.failed = true;
		return NO_NAME;
	}
	r->names[r->nr++] = n;
	add_key(r, n.text, len, name);
	if (is_file && is_own_name(n.text + n.base, len - n.base))
		add_key(r, n.text + n.base, len - n.base, name);
	return name;
}

void redact_add(struct redact *r, enum name_kind kind, const char *name, size_t len)
{
	bool path = len && is_path(name), usable;

	if (!r->on)
		return;
	len = strnlen(name, len);
	while (path && len && name[len - 1] == '/') {
		len--;
		if (kind == NAME_PATH)
			kind = NAME_DIRECTORY;
	}
	usable = path					       ? redact_path_needs_alias(name, len)
		 : kind == NAME_PATH || kind == NAME_DIRECTORY ? is_own_name(name, len)
							       : is_word(name, len);
	if (usable && find_key_of(r, name, len) == NO_NAME)
		take_text(r, kind, name, len);
}

void redact_public(struct redact *r, const char *text)
{
	struct bytes copy = arena_bytes(&r->arena, text, strlen(text));

	if (vec_reserve(r->texts, r->room_texts, r->nr_texts + 1))
		r->arena.failed = true;
	else if (copy.data)
		r->texts[r->nr_texts++] = copy;
}

enum { ALIAS_MAX = 32 };

/* "<KIND-N>"; returns its length. */
static size_t alias_of(const struct name *n, char ret[ALIAS_MAX])
{
	return (size_t)snprintf(ret, ALIAS_MAX, "<%s-%u>", kinds[n->kind], n->number);
}

/* Whether a name looks like an alias; no other name may get that alias. */
static bool is_taken(const struct redact *r, const char *alias)
{
	for (size_t i = 0; i < r->nr; i++)
		if (memmem(r->names[i].text, r->names[i].len, alias, strlen(alias)))
			return true;
	return false;
}

/* The next number of its kind, skipping taken ones. */
static void give_number(struct redact *r, struct name *n)
{
	char alias[ALIAS_MAX];

	if (n->number)
		return;
	do {
		n->number = ++r->numbers[n->kind];
		alias_of(n, alias);
	} while (is_taken(r, alias));
}

/* The name of the alias at the start of text, and the alias's length, with a kept ending;
 * NO_NAME: none. */
static uint32_t alias_at(const struct redact *r, const char *text, size_t len, size_t *ret_len)
{
	size_t most = len < ALIAS_MAX ? len : ALIAS_MAX;
	const char *dash = *text == '<' ? memchr(text, '-', most) : NULL;
	unsigned long number = dash ? strtoul(dash + 1, NULL, 10) : 0;

	for (uint32_t name = 0; number && name < r->nr; name++) {
		const struct name *n = &r->names[name];
		char alias[ALIAS_MAX];
		size_t used = n->number == number ? alias_of(n, alias) : SIZE_MAX;

		if (used > len || memcmp(text, alias, used) != 0)
			continue;
		if (len - used >= n->ending &&
		    !memcmp(text + used, n->text + n->len - n->ending, n->ending))
			used += n->ending;
		*ret_len = used;
		return name;
	}
	return NO_NAME;
}

/* Whether a path component goes on at `at`. */
static bool goes_on(const char *text, size_t len, size_t at)
{
	if (at >= len || !text[at])
		return false;
	if (redact_path_word(text[at]) || (text[at] & 0x80) || strchr("-+@%~=#", text[at]))
		return true;
	return strchr(".:,", text[at]) && at + 1 < len && redact_path_word(text[at + 1]);
}

/* Whether a name that begins at `begin` may end before `end`. */
static bool may_end(const char *text, size_t len, size_t begin, size_t end)
{
	if (text[begin] == '/' || text[begin] == '~')
		return !goes_on(text, len, end);
	return end >= len || !redact_path_word(text[end - 1]) || !redact_path_word(text[end]);
}

static bool may_begin(const char *text, size_t at)
{
	return !at || !redact_path_word(text[at - 1]) || !redact_path_word(text[at]);
}

/* The longest name at `at`, and its length. It never extends into an alias, which is one unit. */
static uint32_t find_name(const struct redact *r, const char *text, size_t len, size_t at,
			  size_t *ret_len)
{
	size_t most = may_begin(text, at) ? len - at : 0, used;

	while (most) {
		size_t before = keys_upto(r, text + at, most), same = 0, end = 0;
		const struct key *k = before ? &r->keys[before - 1] : NULL;

		/* No key between the text and this one is a prefix of the text. */
		while (k && same < k->len && same < most && k->text[same] == text[at + same])
			same++;
		if (!k || same < k->len) {
			most = same;
			continue;
		}
		while (end < same && alias_at(r, text + at + end, len - at - end, &used) == NO_NAME)
			end++;
		if (end == same && may_end(text, len, at, at + same)) {
			*ret_len = same;
			return k->name;
		}
		most = end < same ? end : same - 1;
	}
	return NO_NAME;
}

/* Whether a name occurs in a public text: then it reveals nothing about this machine. */
static bool is_public(const struct redact *r, const char *name, size_t name_len)
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

/* The name at `at`, unless it is within a path that every machine has; past: the end of that
 * path. */
static uint32_t name_at(const struct redact *r, const char *text, size_t len, size_t at,
			size_t *past, size_t *ret_len)
{
	*ret_len = 0;
	if (at >= *past)
		*past = redact_path_system_end(text, len, at);
	return at < *past && strchr("/~", text[at]) ? NO_NAME
						    : find_name(r, text, len, at, ret_len);
}

/* The name at `at`, or the name of an unknown path; NO_NAME: none. */
static uint32_t take_name(struct redact *r, const char *text, size_t len, size_t at, size_t *past,
			  size_t *ret_len)
{
	uint32_t name = name_at(r, text, len, at, past, ret_len);
	size_t used = *ret_len, end;

	if (at < *past || !strchr("/~", text[at]) ||
	    (name == NO_NAME && !redact_path_begins(text, len, at)))
		return name;
	end = redact_path_end(text, len, at + used);
	if (name != NO_NAME && (end < at + used + 2 || text[at + used] != '/'))
		return name;
	if (end < at + 2)
		return NO_NAME;
	*ret_len = end - at;
	return take_text(r, end < len && text[end] == '/' ? NAME_DIRECTORY : NAME_PATH, text + at,
			 end - at);
}

/* whole: its path; a file's own name is shorter. */
static void put_alias(struct redact *r, uint32_t name, bool whole, FILE *out)
{
	struct name *n = &r->names[name];
	char alias[ALIAS_MAX];

	if (whole && n->directory != NO_NAME) {
		put_alias(r, n->directory, true, out);
		putc('/', out);
	} else if (whole) {
		fwrite(n->text, 1, n->base, out);
	}
	give_number(r, n);
	alias_of(n, alias);
	fputs(alias, out);
	fwrite(n->text + n->len - n->ending, 1, n->ending, out);
}

static void put_redacted(struct redact *r, const char *text, size_t len, FILE *out)
{
	size_t at = 0, used = 0, past = 0;

	while (at < len) {
		uint32_t name = alias_at(r, text + at, len - at, &used);

		if (name != NO_NAME) {
			fwrite(text + at, 1, used, out);
			at += used;
			continue;
		}
		name = take_name(r, text, len, at, &past, &used);
		if (name == NO_NAME)
			putc(text[at], out);
		else
			put_alias(r, name, used == r->names[name].len, out);
		at += name == NO_NAME ? 1 : used;
	}
}

/* Repeats until nothing changes: a path learned late may occur earlier in the text, and a path
 * may end at a new alias. */
const char *redact_text(struct redact *r, struct arena *a, const char *text, size_t len)
{
	const char *made = arena_bytes(a, text, len).data, *before = NULL;

	for (bool first = true; r->on && made && (first || strcmp(made, before) != 0);
	     first = false) {
		struct text_builder b;
		FILE *out = text_begin(&b);

		if (out)
			put_redacted(r, made, first ? len : strlen(made), out);
		before = made;
		made = text_end_in(&b, a);
		/* A name may be missing, so the text may not be used. */
		if (r->arena.failed)
			return NULL;
	}
	return made;
}

const char *redact_restore(const struct redact *r, struct arena *a, const char *text)
{
	size_t len = strlen(text), used = 0;
	struct text_builder b;
	FILE *out = text_begin(&b);

	for (size_t at = 0; out && at < len; at += used) {
		uint32_t name = alias_at(r, text + at, len - at, &used);

		if (name == NO_NAME) {
			putc(text[at], out);
			used = 1;
			continue;
		}
		fwrite(r->names[name].text + r->names[name].base, 1,
		       r->names[name].len - r->names[name].base, out);
	}
	return text_end_in(&b, a);
}

size_t redact_alias_len(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0;

	return alias_at(r, text, len, &used) == NO_NAME ? 0 : used;
}

const char *redact_left(const struct redact *r, const char *text, size_t len)
{
	size_t used = 0, past = 0;

	for (size_t at = 0; at < len; at++) {
		uint32_t name = alias_at(r, text + at, len - at, &used);

		if (name != NO_NAME) {
			at += used - 1;
			continue;
		}
		name = name_at(r, text, len, at, &past, &used);
		if (name != NO_NAME && !is_public(r, text + at, used))
			return r->names[name].text;
	}
	return NULL;
}
