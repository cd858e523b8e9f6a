/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/tree.h"

#include "cachemon/base/escape.h"

static void put_string(FILE *out, const char *s, size_t len)
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

/* Comma, line and key in front of a value. */
static void put_lead(struct tree *t, const char *key)
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
	put_lead(t, key);
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
	put_lead(t, key);
	fputs(text, t->out);
}

static void json_string(struct tree *t, const char *key, const char *s, size_t len)
{
	put_lead(t, key);
	put_string(t->out, s, len);
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
