/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 64 * 1024, ALIGNMENT = 16 };

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) char data[];
};

static struct arena_block *block_add(struct arena *a, size_t size)
{
	size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
	struct arena_block *b = NULL;

	if (room <= SIZE_MAX - sizeof(*b))
		b = calloc(1, sizeof(*b) + room);
	if (!b)
		return NULL;
	b->size = room;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	void *p = NULL;

	if (size > SIZE_MAX - ALIGNMENT) {
		a->failed = true;
		return NULL;
	}
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!b || b->size - b->used < size)
		b = block_add(a, size);
	if (!b) {
		a->failed = true;
		return NULL;
	}
	p = b->data + b->used;
	b->used += size;
	return p;
}

void *arena_copy(struct arena *a, const void *data, size_t size)
{
	void *copy = arena_alloc(a, size);

	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

struct bytes arena_bytes(struct arena *a, const void *data, size_t len)
{
	struct bytes ret = {0};
	char *copy = arena_alloc(a, len + 1);

	if (!copy)
		return ret;
	if (len)
		memcpy(copy, data, len);
	ret.data = copy;
	ret.len = len;
	return ret;
}

const char *arena_text(struct arena *a, const char *text)
{
	return arena_bytes(a, text, strlen(text)).data;
}

const char *arena_print(struct arena *a, const char *fmt, ...)
{
	char *text = NULL;
	const char *ret = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		ret = arena_text(a, text);
	a->failed |= !ret;
	free(text);
	return ret;
}

void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->failed = false;
}

bool bytes_is(const struct bytes *b, const char *text)
{
	return b->data && b->len == strlen(text) && !memcmp(b->data, text, b->len);
}

bool bytes_equal(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}
