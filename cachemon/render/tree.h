/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A document of objects, arrays and scalars, written as it is described, as JSON or as YAML. Owns
 * the syntax: integers keep all 64 bits, doubles read back to the same value, strings are escaped
 * here and nowhere else. key is NULL inside arrays and for the root.
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
	void *state; /* of the writer */
	int depth;
	enum tree_shape shape[TREE_DEPTH];
	bool filled[TREE_DEPTH];
	bool failed;
};

/* 0 or -errno. End with tree_finish() in any case. */
int tree_json_begin(struct tree *ret, FILE *out);
int tree_yaml_begin(struct tree *ret, FILE *out);
int tree_finish(struct tree *t);

void tree_object(struct tree *t, const char *key);
void tree_array(struct tree *t, const char *key);
/* An array of numbers and nulls that may be long: on one line. */
void tree_line(struct tree *t, const char *key);
void tree_end(struct tree *t);
void tree_null(struct tree *t, const char *key);
void tree_bool(struct tree *t, const char *key, bool v);
/* true, or no key at all. */
void tree_mark(struct tree *t, const char *key, bool is);
void tree_int(struct tree *t, const char *key, int64_t v);
void tree_uint(struct tree *t, const char *key, uint64_t v);
/* null when v is not finite. */
void tree_double(struct tree *t, const char *key, double v);
/* null where it is absent. */
void tree_opt_int(struct tree *t, const char *key, struct opt_i64 v);
void tree_opt_double(struct tree *t, const char *key, struct opt_f64 v);
/* A literal number that is made elsewhere, exactly. */
void tree_number(struct tree *t, const char *key, const char *digits);
/* Valid UTF-8. NULL: null. */
void tree_string(struct tree *t, const char *key, const char *s);
/* Any bytes. When they are no UTF-8: the escaped text, and "<key>_escaped": true after it.
 * NULL: null. */
void tree_bytes(struct tree *t, const char *key, const char *s, size_t len);
/* The same: a name as the database has it, and a text that may have one in it. NULL: null. */
void tree_name(struct tree *t, const char *key, const struct bytes *name);
void tree_text(struct tree *t, const char *key, const char *s);

#endif
