/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"

static void open_level(struct tree *t, const char *key, enum tree_shape shape)
{
	if (t->depth >= TREE_DEPTH) {
		t->failed = true;
		return;
	}
	t->ops->open(t, key, shape);
	t->shape[t->depth] = shape;
	t->filled[t->depth] = false;
	t->depth++;
}

void tree_object(struct tree *t, const char *key)
{
	open_level(t, key, TREE_OBJECT);
}

void tree_array(struct tree *t, const char *key)
{
	open_level(t, key, TREE_ARRAY);
}

void tree_line(struct tree *t, const char *key)
{
	open_level(t, key, TREE_LINE);
}

void tree_end(struct tree *t)
{
	if (t->depth == 0) {
		t->failed = true;
		return;
	}
	t->depth--;
	t->ops->close(t, t->shape[t->depth] != TREE_OBJECT);
}

void tree_null(struct tree *t, const char *key)
{
	t->ops->plain(t, key, "null");
}

void tree_bool(struct tree *t, const char *key, bool v)
{
	t->ops->plain(t, key, v ? "true" : "false");
}

void tree_number(struct tree *t, const char *key, const char *digits)
{
	t->ops->plain(t, key, digits);
}

void tree_int(struct tree *t, const char *key, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	t->ops->plain(t, key, text);
}

void tree_uint(struct tree *t, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	t->ops->plain(t, key, text);
}

void tree_double(struct tree *t, const char *key, double v)
{
	char text[40];

	if (v - v != 0) {
		tree_null(t, key);
		return;
	}
	/* The shortest of those that read back to the same value. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	/* YAML 1.1 takes 1e-05 for a string: a float has a dot there. */
	if (!strpbrk(text, ".")) {
		char *e = strchr(text, 'e');
		char tail[16] = "";

		if (e) {
			snprintf(tail, sizeof(tail), "%s", e);
			*e = '\0';
		}
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ".0%s", tail);
	}
	t->ops->plain(t, key, text);
}

void tree_string(struct tree *t, const char *key, const char *s)
{
	if (s)
		t->ops->string(t, key, s, strlen(s));
	else
		tree_null(t, key);
}

void tree_bytes(struct tree *t, const char *key, const char *s, size_t len)
{
	struct text_builder b;
	bool escaped = false;
	char *text;

	if (!s) {
		tree_null(t, key);
		return;
	}
	if (text_begin(&b))
		escaped = escape_data(b.out, s, len);
	text = text_end(&b);
	if (!text) {
		t->failed = true;
		return;
	}
	t->ops->string(t, key, text, b.len);
	free(text);
	if (escaped && key) {
		char name[64];

		snprintf(name, sizeof(name), "%s_escaped", key);
		tree_bool(t, name, true);
	}
}

int tree_finish(struct tree *t)
{
	int ret = t->ops->finish(t);

	if (ret < 0)
		return ret;
	if (ferror(t->out))
		return -EIO;
	return t->failed || t->depth != 0 ? -ENOMEM : 0;
}
