/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inserts shared texts into a note. A line "@NAME KEY=VALUE...@" becomes the text of
 * prompts/shared/NAME.md, in which each "@KEY@" becomes VALUE. A shared text cannot refer to
 * another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advisor/rules/embedded.h"
#include "advisor/rules/note_expand.h"
#include "cachemon/base/suggest.h"
#include "cachemon/base/text_builder.h"

/* A shared text is much longer than its reference; the limit on references bounds the size of a
 * user's note. */
enum { VALUES_MAX = 4, NAMES_MAX = 64, REFERENCES_MAX = 32 };

/* A line that refers to a shared text. */
struct reference {
	const char *file;
	int line;
	const char *name;
	struct value {
		struct span key, text;
		bool used;
	} values[VALUES_MAX];
	size_t nr_values;
};

/* The text between the two "@"; false: another line, such as "@@ -1 +1 @@" of a diff. */
static bool is_reference(struct span line, struct span *ret_words)
{
	struct span text = span_trim(line);

	if (text.len < 3 || text.at[0] != '@' || text.at[text.len - 1] != '@' || text.at[1] < 'a' ||
	    text.at[1] > 'z')
		return false;
	*ret_words = (struct span){text.at + 1, text.len - 2};
	return true;
}

static int take_words(struct arena *a, struct reference *r, struct span words, struct errtext *err)
{
	struct value *value;
	struct span word;

	span_word(&words, &word);
	r->name = span_copy(a, word);
	if (!r->name)
		return -ENOMEM;
	for (; span_word(&words, &word); r->nr_values++) {
		if (r->nr_values == VALUES_MAX)
			return errtext_set(err, -EINVAL,
					   "%s:%d: more than %d values; leave some out", r->file,
					   r->line, VALUES_MAX);
		value = &r->values[r->nr_values];
		if (!span_cut(word, '=', &value->key, &value->text) || !value->text.len)
			return errtext_set(err, -EINVAL, "%s:%d: '%.*s' is not KEY=VALUE", r->file,
					   r->line, (int)word.len, word.at);
	}
	return 0;
}

/* NULL: no text has that name. */
static const char *find_text(const struct reference *r, struct errtext *err)
{
	const char *names[NAMES_MAX];
	const char *name, *text, *near;
	size_t nr = 0;

	for (size_t i = 0; embedded_shared(i, &name, &text); i++) {
		if (strcmp(name, r->name) == 0)
			return text;
		if (nr < NAMES_MAX)
			names[nr++] = name;
	}
	near = suggest_nearest(r->name, names, nr);
	errtext_set(err, -EINVAL, "%s:%d: no shared text '%s'; %s", r->file, r->line, r->name,
		    suggest_text(near, "see prompts/README.md").text);
	return NULL;
}

/* The key of "@KEY@" at the start of text; false: it is absent. */
static bool is_key_reference(const char *text, struct span *ret_key)
{
	*ret_key = (struct span){text + 1, *text == '@' ? strcspn(text + 1, "@\n") : 0};
	return ret_key->len && ret_key->at[ret_key->len] == '@' && span_is_name(*ret_key, "-");
}

static int expand_value(FILE *out, struct reference *r, struct span key, struct errtext *err)
{
	for (size_t i = 0; i < r->nr_values; i++) {
		struct value *value = &r->values[i];

		if (value->key.len != key.len || memcmp(value->key.at, key.at, key.len) != 0)
			continue;
		value->used = true;
		fwrite(value->text.at, 1, value->text.len, out);
		return 0;
	}
	return errtext_set(err, -EINVAL, "%s:%d: shared text '%s' needs %.*s=VALUE", r->file,
			   r->line, r->name, (int)key.len, key.at);
}

/* Rejects a key that is misspelt or given twice. */
static int check_used(const struct reference *r, struct errtext *err)
{
	for (size_t i = 0; i < r->nr_values; i++)
		if (!r->values[i].used)
			return errtext_set(
				err, -EINVAL,
				"%s:%d: shared text '%s' does not use this '%.*s'; leave it out",
				r->file, r->line, r->name, (int)r->values[i].key.len,
				r->values[i].key.at);
	return 0;
}

static int expand_text(FILE *out, struct reference *r, const char *text, struct errtext *err)
{
	struct span key;
	int e = 0;

	while (*text && !e) {
		if (is_key_reference(text, &key)) {
			e = expand_value(out, r, key, err);
			text = key.at + key.len + 1;
		} else {
			fputc(*text++, out);
		}
	}
	return e ? e : check_used(r, err);
}

static int put_reference(FILE *out, struct arena *a, struct reference *r, struct span words,
			 struct errtext *err)
{
	int e = take_words(a, r, words, err);
	const char *text;

	if (e)
		return e;
	text = find_text(r, err);
	return text ? expand_text(out, r, text, err) : -EINVAL;
}

static int put_lines(FILE *out, struct arena *a, const char *file, struct lines lines,
		     const char *end, struct errtext *err)
{
	struct span line, words;
	int nr = 0, e = 0;

	while (!e && lines.next < end && lines_next(&lines, &line)) {
		struct reference r = {.file = file, .line = lines.number};

		if (!is_reference(line, &words))
			fwrite(line.at, 1, (size_t)(lines.next - line.at), out);
		else if (nr++ < REFERENCES_MAX)
			e = put_reference(out, a, &r, words, err);
		else
			e = errtext_set(err, -EINVAL,
					"%s:%d: more than %d shared texts; leave some out", file,
					lines.number, REFERENCES_MAX);
	}
	return e;
}

int note_expand(struct arena *a, const char *file, struct lines from, const char *end,
		const char **ret, struct errtext *err)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	int e = out ? put_lines(out, a, file, from, end, err) : -ENOMEM;
	const char *text = text_end_in(&b, a);

	if (e)
		return e;
	*ret = text;
	return text ? 0 : -ENOMEM;
}
