/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A document of objects, arrays and scalars, written during its description, as JSON or YAML. Owns
 * the syntax: integers keep all 64 bits, doubles read back to the same value, strings are escaped
 * only here. key is NULL inside arrays and for the root.
 */
#ifndef RENDER_TREE_H
#define RENDER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/optional.h"

struct tree;

enum tree_shape { TREE_OBJECT, TREE_ARRAY, TREE_LINE /* an array of plain values on one line */ };

struct tree_ops {
	void (*open)(struct tree *t, const char *key, enum tree_shape shape);
	void (*close)(struct tree *t, bool array);
	/* A number, true, false or null. */
	void (*plain)(struct tree *t, const char *key, const char *text);
	/* Valid UTF-8, may hold NUL. */
	void (*string)(struct tree *t, const char *key, const char *s, size_t len);
	int (*finish)(struct tree *t);
};

enum { TREE_DEPTH = 16 };

struct tree {
	const struct tree_ops *ops;
	FILE *out;
	void *state; /* private to the writer */
	int depth;
	enum tree_shape shape[TREE_DEPTH];
	bool filled[TREE_DEPTH];
	bool failed;
};

/* 0 or -errno. Call tree_finish() in any case. */
int tree_json_begin(struct tree *ret, FILE *out);
int tree_yaml_begin(struct tree *ret, FILE *out);
int tree_finish(struct tree *t);

void tree_object(struct tree *t, const char *key);
/* Null, and false, if it is absent. */
bool tree_opt_object(struct tree *t, const char *key, bool there);
void tree_array(struct tree *t, const char *key);
/* An array of numbers and nulls, perhaps long: on one line. */
void tree_line(struct tree *t, const char *key);
void tree_end(struct tree *t);
void tree_null(struct tree *t, const char *key);
void tree_bool(struct tree *t, const char *key, bool v);
/* true, or no key. */
void tree_mark(struct tree *t, const char *key, bool is);
void tree_int(struct tree *t, const char *key, int64_t v);
void tree_uint(struct tree *t, const char *key, uint64_t v);
/* null if v is not finite. */
void tree_double(struct tree *t, const char *key, double v);
/* null if absent. */
void tree_opt_int(struct tree *t, const char *key, struct opt_i64 v);
void tree_opt_double(struct tree *t, const char *key, struct opt_f64 v);
/* A literal number from elsewhere, unchanged. */
void tree_number(struct tree *t, const char *key, const char *digits);
/* Valid UTF-8. NULL: null. */
void tree_string(struct tree *t, const char *key, const char *s);
/* Any bytes. If they are not UTF-8: the escaped text, followed by "<key>_escaped": true. NULL:
 * null. */
void tree_bytes(struct tree *t, const char *key, const char *s, size_t len);
/* The same for a name of the database, and for a text that may contain one. NULL: null. */
void tree_name(struct tree *t, const char *key, const struct bytes *name);
void tree_text(struct tree *t, const char *key, const char *s);

#endif
