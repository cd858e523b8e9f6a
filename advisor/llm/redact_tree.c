/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

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
