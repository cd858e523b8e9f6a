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

bool tree_opt_object(struct tree *t, const char *key, bool there)
{
	if (there)
		tree_object(t, key);
	else
		tree_null(t, key);
	return there;
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

void tree_mark(struct tree *t, const char *key, bool is)
{
	if (is)
		tree_bool(t, key, true);
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
	/* The shortest form that reads back to the same value. */
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

void tree_opt_int(struct tree *t, const char *key, struct opt_i64 v)
{
	if (v.known)
		tree_int(t, key, v.value);
	else
		tree_null(t, key);
}

void tree_opt_double(struct tree *t, const char *key, struct opt_f64 v)
{
	if (v.known)
		tree_double(t, key, v.value);
	else
		tree_null(t, key);
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

void tree_name(struct tree *t, const char *key, const struct bytes *name)
{
	tree_bytes(t, key, name->data, name->len);
}

void tree_text(struct tree *t, const char *key, const char *s)
{
	tree_bytes(t, key, s, s ? strlen(s) : 0);
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

static void put_json_string(FILE *out, const char *s, size_t len)
{
	putc('"', out);
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		size_t n = escape_decode(s + i, len - i, &cp);

		if (cp == '"' || cp == '\\')
			fprintf(out, "\\%c", (int)cp);
		else if (escape_is_unsafe(cp) && cp < 0x10000)
			fprintf(out, "\\u%04x", cp);
		else if (escape_is_unsafe(cp))
			fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((cp - 0x10000) >> 10),
				0xdc00 + ((cp - 0x10000) & 0x3ff));
		else
			fwrite(s + i, 1, n, out);
		i += n ? n : 1;
	}
	putc('"', out);
}

static bool in_line(const struct tree *t)
{
	return t->depth > 0 && t->shape[t->depth - 1] == TREE_LINE;
}

/* The comma, newline and key before a value. */
static void put_json_lead(struct tree *t, const char *key)
{
	if (in_line(t)) {
		fputs(t->filled[t->depth - 1] ? ", " : "", t->out);
		t->filled[t->depth - 1] = true;
		return;
	}
	if (t->depth > 0) {
		fputs(t->filled[t->depth - 1] ? ",\n" : "\n", t->out);
		t->filled[t->depth - 1] = true;
	}
	for (int i = 0; i < t->depth; i++)
		fputs("  ", t->out);
	if (key)
		fprintf(t->out, "\"%s\": ", key);
}

static void json_open(struct tree *t, const char *key, enum tree_shape shape)
{
	put_json_lead(t, key);
	putc(shape == TREE_OBJECT ? '{' : '[', t->out);
}

static void json_close(struct tree *t, bool array)
{
	if (t->filled[t->depth] && t->shape[t->depth] != TREE_LINE) {
		putc('\n', t->out);
		for (int i = 0; i < t->depth; i++)
			fputs("  ", t->out);
	}
	putc(array ? ']' : '}', t->out);
}

static void json_plain(struct tree *t, const char *key, const char *text)
{
	put_json_lead(t, key);
	fputs(text, t->out);
}

static void json_string(struct tree *t, const char *key, const char *s, size_t len)
{
	put_json_lead(t, key);
	put_json_string(t->out, s, len);
}

static int json_finish(struct tree *t)
{
	putc('\n', t->out);
	return 0;
}

int tree_json_begin(struct tree *ret, FILE *out)
{
	static const struct tree_ops ops = {
		.open = json_open,
		.close = json_close,
		.plain = json_plain,
		.string = json_string,
		.finish = json_finish,
	};

	*ret = (struct tree){.ops = &ops, .out = out};
	return 0;
}
