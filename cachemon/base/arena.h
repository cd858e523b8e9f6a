/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for many small objects that are freed together, such as a model or a set of rules. Owns
 * allocation only. It remembers a failure, so that a loader checks once at its end.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	bool failed;
};

/* Bytes as the database has them: may hold NUL. data NULL: SQL NULL. One NUL follows the data. */
struct bytes {
	const char *data;
	size_t len;
};

/* Zeroed memory; NULL sets arena->failed. */
void *arena_alloc(struct arena *a, size_t size);
/* A copy; NULL sets arena->failed. */
void *arena_copy(struct arena *a, const void *data, size_t size);
struct bytes arena_bytes(struct arena *a, const void *data, size_t len);
const char *arena_text(struct arena *a, const char *text);
/* A formatted text; NULL sets arena->failed. */
const char *arena_print(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

/* NULL counts as empty. */
bool bytes_equal(const struct bytes *a, const struct bytes *b);
/* Whether they equal this text; NULL does not. */
bool bytes_is(const struct bytes *b, const char *text);

#endif
