/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/redact_impl.h"
#include "cachemon/base/vec.h"

static const char *const kinds[NAME_NR] = {
	[NAME_PATH] = "file",	    [NAME_DIRECTORY] = "dir", [NAME_JOB] = "job",
	[NAME_USER] = "user",	    [NAME_HOST] = "host",     [NAME_CGROUP] = "cgroup",
	[NAME_COMMAND] = "command",
};

static int add_node(struct redact *r, unsigned char c, uint32_t *ret)
{
	if (r->nr_nodes == UINT32_MAX || vec_reserve(r->nodes, r->room_nodes, r->nr_nodes + 1))
		return -ENOMEM;
	r->nodes[r->nr_nodes] = (struct tree_node){.name = NO_NAME, .c = c};
	*ret = (uint32_t)r->nr_nodes++;
	return 0;
}

uint32_t redact_step(const struct redact *r, uint32_t node, unsigned char c)
{
	uint32_t child = r->nr_nodes ? r->nodes[node].child : 0;

	while (child && r->nodes[child].c != c)
		child = r->nodes[child].next;
	return child;
}

/* A name that is there already is left. 0 or -ENOMEM. */
static int add_to_tree(struct redact *r, const char *text, size_t len, uint32_t name)
{
	uint32_t node = 0, child;

	if (!r->nr_nodes && add_node(r, 0, &child))
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		child = redact_step(r, node, (unsigned char)text[i]);
		if (!child) {
			if (add_node(r, (unsigned char)text[i], &child))
				return -ENOMEM;
			r->nodes[child].next = r->nodes[node].child;
			r->nodes[node].child = child;
		}
		node = child;
	}
	if (r->nodes[node].name == NO_NAME)
		r->nodes[node].name = name;
	return 0;
}

static uint32_t find_in_tree(const struct redact *r, const char *text, size_t len)
{
	uint32_t node = 0;

	for (size_t i = 0; i < len; i++) {
		node = redact_step(r, node, (unsigned char)text[i]);
		if (!node)
			return NO_NAME;
	}
	return node ? r->nodes[node].name : NO_NAME;
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
	for (int i = 0; i < NAME_NR; i++)
		free(r->aliases[i].names);
	arena_free(&r->arena);
	free(r->nodes);
	free(r->texts);
	free(r->names);
	free(r);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "E12": what a pack calls its own things. */
static bool is_key(const char *name, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (!is_digit(name[i]))
			return false;
	return strchr("EFNA", name[0]);
}

/* Whether a name can be told from other words of a text: two letters, or a number, cannot. */
static bool is_word(const char *name, size_t len)
{
	bool letter = false;

	for (size_t i = 0; i < len; i++)
		letter |= (name[i] & 0x80) || (redact_is_word(name[i]) && !is_digit(name[i]));
	return len >= NAME_MIN && letter && !is_key(name, len);
}

/* A file's own name, where it stands without its directory: not when it could be any word. */
static bool is_own_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] < 'a' || name[i] > 'z')
			return is_word(name, len);
	return false;
}

static uint32_t add_name(struct redact *r, const struct name *n)
{
	uint32_t index = (uint32_t)r->nr;
	struct bytes copy = arena_bytes(&r->arena, n->text, n->len);

	if (!copy.data || r->nr >= NO_NAME || vec_reserve(r->names, r->room, r->nr + 1) ||
	    add_to_tree(r, copy.data, copy.len, index))
		return NO_NAME;
	r->names[index] = *n;
	r->names[index].text = copy.data;
	r->nr++;
	return index;
}

/* Whether what is above a file is worth an alias: not "/", "~", or what every machine has. */
static bool is_directory(const char *path, size_t len)
{
	if (len < 2 || redact_is_of_system(path, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (path[i] != '/')
			return true;
	return false;
}

static uint32_t add_file(struct redact *r, const char *path, size_t len)
{
	struct name n = {NAME_PATH, path, len, 0, 0, NO_NAME, 0};
	uint32_t index;

	if (path[0] == '/' || path[0] == '~')
		for (n.base = len; n.base && path[n.base - 1] != '/';)
			n.base--;
	if (n.base && is_directory(path, n.base - 1)) {
		n.directory = redact_path(r, NAME_DIRECTORY, path, n.base - 1);
		if (n.directory == NO_NAME)
			return NO_NAME;
	}
	n.ending = redact_ending(path + n.base, len - n.base);
	index = add_name(r, &n);
	if (index != NO_NAME && is_own_name(path + n.base, len - n.base) &&
	    add_to_tree(r, path + n.base, len - n.base, index))
		return NO_NAME;
	return index;
}

uint32_t redact_path(struct redact *r, enum name_kind kind, const char *path, size_t len)
{
	struct name n = {kind, path, len, 0, 0, NO_NAME, 0};
	uint32_t known = find_in_tree(r, path, len);

	if (known != NO_NAME && r->names[known].len == len)
		return known;
	return kind == NAME_PATH ? add_file(r, path, len) : add_name(r, &n);
}

int redact_add(struct redact *r, enum name_kind kind, const char *name, size_t len)
{
	bool is_path = len && (name[0] == '/' || name[0] == '~');

	if (!r->on)
		return 0;
	len = strnlen(name, len);
	while (is_path && len && name[len - 1] == '/') {
		len--;
		if (kind == NAME_PATH)
			kind = NAME_DIRECTORY;
	}
	if (is_path ? !is_directory(name, len) : !is_word(name, len))
		return 0;
	if (!is_path && (kind == NAME_PATH || kind == NAME_DIRECTORY) && !is_own_name(name, len))
		return 0;
	if (find_in_tree(r, name, len) != NO_NAME)
		return 0;
	return redact_path(r, kind, name, len) == NO_NAME ? -ENOMEM : 0;
}

int redact_public(struct redact *r, const char *text)
{
	struct bytes copy = arena_bytes(&r->arena, text, strlen(text));

	if (!copy.data || vec_reserve(r->texts, r->room_texts, r->nr_texts + 1))
		return -ENOMEM;
	r->texts[r->nr_texts++] = copy;
	return 0;
}

/* Numbers of aliases do not reach beyond that: more names than any report tells of. */
enum { DIGITS_MAX = 7 };

/* Whether a name has the look of an alias in it: no other name may have that one. */
static bool is_taken(const struct redact *r, const char *alias)
{
	for (size_t i = 0; i < r->nr; i++)
		if (memmem(r->names[i].text, r->names[i].len, alias, strlen(alias)))
			return true;
	return false;
}

/* The next number of its kind, or the one behind those that are taken. 0 or -ENOMEM. */
static int give_number(struct redact *r, uint32_t name, char alias[32])
{
	struct name *n = &r->names[name];

	while (!n->number) {
		size_t number = r->aliases[n->kind].nr;
		bool taken;

		if (vec_reserve(r->aliases[n->kind].names, r->aliases[n->kind].room, number + 1))
			return -ENOMEM;
		snprintf(alias, 32, "<%s-%zu>", kinds[n->kind], number + 1);
		taken = is_taken(r, alias);
		r->aliases[n->kind].names[number] = taken ? NO_NAME : name;
		r->aliases[n->kind].nr++;
		n->number = taken ? 0 : (uint32_t)number + 1;
	}
	return 0;
}

const char *redact_alias(struct redact *r, uint32_t name, char ret[32])
{
	if (give_number(r, name, ret))
		return NULL;
	snprintf(ret, 32, "<%s-%u>", kinds[r->names[name].kind], r->names[name].number);
	return ret;
}

/* "<KIND-N>" at the beginning of text. */
static size_t parse_alias(const char *text, size_t len, enum name_kind *ret_kind,
			  uint32_t *ret_number)
{
	for (int i = 0; i < NAME_NR; i++) {
		size_t at = strlen(kinds[i]) + 2, begin = at;
		uint32_t number = 0;

		if (len <= at || text[0] != '<' || memcmp(text + 1, kinds[i], at - 2) != 0 ||
		    text[at - 1] != '-' || text[at] == '0')
			continue;
		for (; at < len && at < begin + DIGITS_MAX && is_digit(text[at]); at++)
			number = number * 10 + (uint32_t)(text[at] - '0');
		if (at == begin || at >= len || text[at] != '>')
			return 0;
		*ret_kind = (enum name_kind)i;
		*ret_number = number;
		return at + 1;
	}
	return 0;
}

uint32_t redact_alias_at(const struct redact *r, const char *text, size_t len, size_t *ret_len)
{
	enum name_kind kind = NAME_NR;
	uint32_t number = 0, name;
	size_t used = parse_alias(text, len, &kind, &number);
	const struct name *n;

	if (!used || number > r->aliases[kind].nr)
		return NO_NAME;
	name = r->aliases[kind].names[number - 1];
	if (name == NO_NAME)
		return NO_NAME;
	n = &r->names[name];
	if (len - used >= n->ending &&
	    !memcmp(text + used, n->text + n->len - n->ending, n->ending))
		used += n->ending;
	*ret_len = used;
	return name;
}
