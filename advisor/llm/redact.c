/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/redact_impl.h"

int redact_grow(void **list, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (nr < *room)
		return 0;
	grown = reallocarray(*list, more, size);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*room = more;
	return 0;
}

static int node_new(struct redact_tree *t, unsigned char c, uint32_t *ret)
{
	if (t->nr == UINT32_MAX ||
	    redact_grow((void **)&t->nodes, t->nr, &t->room, sizeof(*t->nodes)))
		return -ENOMEM;
	t->nodes[t->nr] = (struct tree_node){.name = NO_NAME, .c = c};
	*ret = (uint32_t)t->nr++;
	return 0;
}

uint32_t redact_tree_step(const struct redact_tree *t, uint32_t node, unsigned char c)
{
	uint32_t child = t->nr ? t->nodes[node].child : 0;

	while (child && t->nodes[child].c != c)
		child = t->nodes[child].next;
	return child;
}

int redact_tree_add(struct redact_tree *t, const char *text, size_t len, uint32_t name)
{
	uint32_t node = 0, child;

	if (!t->nr && node_new(t, 0, &child))
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		child = redact_tree_step(t, node, (unsigned char)text[i]);
		if (!child) {
			if (node_new(t, (unsigned char)text[i], &child))
				return -ENOMEM;
			t->nodes[child].next = t->nodes[node].child;
			t->nodes[node].child = child;
		}
		node = child;
	}
	if (t->nodes[node].name == NO_NAME)
		t->nodes[node].name = name;
	return 0;
}

uint32_t redact_tree_find(const struct redact_tree *t, const char *text, size_t len)
{
	uint32_t node = 0;

	for (size_t i = 0; i < len; i++) {
		node = redact_tree_step(t, node, (unsigned char)text[i]);
		if (!node)
			return NO_NAME;
	}
	return node ? t->nodes[node].name : NO_NAME;
}

void redact_tree_free(struct redact_tree *t)
{
	free(t->nodes);
	*t = (struct redact_tree){0};
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
	redact_tree_free(&r->tree);
	arena_free(&r->arena);
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

static uint32_t add(struct redact *r, const struct name *n)
{
	uint32_t index = (uint32_t)r->nr;
	struct bytes copy = arena_bytes(&r->arena, n->text, n->len);

	if (!copy.data || r->nr >= NO_NAME ||
	    redact_grow((void **)&r->names, r->nr, &r->room, sizeof(*r->names)) ||
	    redact_tree_add(&r->tree, copy.data, copy.len, index))
		return NO_NAME;
	r->names[index] = *n;
	r->names[index].text = copy.data;
	r->nr++;
	return index;
}

/* Where the last component begins. */
static size_t base_of(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len;
}

/* Whether what is above a file is worth an alias: not "/", "~", or what every machine has. */
static bool is_directory(const char *path, size_t len)
{
	if (len < 2 || redact_path_is_of_system(path, len))
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
		n.base = base_of(path, len);
	if (n.base && is_directory(path, n.base - 1)) {
		n.directory = redact_path(r, NAME_DIRECTORY, path, n.base - 1);
		if (n.directory == NO_NAME)
			return NO_NAME;
	}
	n.ending = redact_path_ending(path + n.base, len - n.base);
	index = add(r, &n);
	if (index != NO_NAME && is_own_name(path + n.base, len - n.base) &&
	    redact_tree_add(&r->tree, path + n.base, len - n.base, index))
		return NO_NAME;
	return index;
}

uint32_t redact_path(struct redact *r, enum name_kind kind, const char *path, size_t len)
{
	struct name n = {kind, path, len, 0, 0, NO_NAME, 0};
	uint32_t known = redact_tree_find(&r->tree, path, len);

	if (known != NO_NAME && r->names[known].len == len)
		return known;
	return kind == NAME_PATH ? add_file(r, path, len) : add(r, &n);
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
	if (redact_tree_find(&r->tree, name, len) != NO_NAME)
		return 0;
	return redact_path(r, kind, name, len) == NO_NAME ? -ENOMEM : 0;
}

int redact_public(struct redact *r, const char *text)
{
	struct bytes copy = arena_bytes(&r->arena, text, strlen(text));

	if (!copy.data ||
	    redact_grow((void **)&r->texts, r->nr_texts, &r->room_texts, sizeof(*r->texts)))
		return -ENOMEM;
	r->texts[r->nr_texts++] = copy;
	return 0;
}
