/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/rule.h"
#include "advisor/rules/text.h"
#include "util/suggest.h"

static const struct {
	const char *name;
	size_t offset;
	bool needed;
} keys[] = {
	{"id", offsetof(struct note, id), true},
	{"title", offsetof(struct note, title), true},
	{"applies_to", offsetof(struct note, applies_to), false},
	{"facts", offsetof(struct note, facts), false},
	{"risk", offsetof(struct note, risk), true},
	{"undo", offsetof(struct note, undo), true},
	{"verify", offsetof(struct note, verify), true},
};

enum { NR_KEYS = sizeof(keys) / sizeof(keys[0]), SNIPPETS_MAX = 32 };

/* What a fence is called, as a report names the language. NULL: none of ours. */
static const char *language_of(struct span s)
{
	static const char *const names[][2] = {
		{"c", "c"},	    {"python", "python"}, {"py", "python"},
		{"shell", "shell"}, {"sh", "shell"},	  {"bash", "shell"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_is(s, names[i][0]))
			return names[i][1];
	return NULL;
}

static const char **field(struct note *n, size_t i)
{
	return (const char **)((char *)n + keys[i].offset);
}

static int unknown_key(const struct note *n, int line, const char *name, struct errtext *err)
{
	const char *names[NR_KEYS];
	const char *near;

	for (size_t i = 0; i < NR_KEYS; i++)
		names[i] = keys[i].name;
	near = suggest_nearest(name, names, NR_KEYS);
	return errtext_set(err, -EINVAL, "%s:%d: unknown key '%s'; %s%s%s", n->file, line, name,
			   near ? "did you mean '" : "see prompts/README.md", near ? near : "",
			   near ? "'?" : "");
}

static int take_key(struct arena *a, struct note *n, struct span text, int line,
		    struct errtext *err)
{
	struct span name, value;
	const char *copy;

	if (!span_cut(text, ':', &name, &value))
		return errtext_set(err, -EINVAL,
				   "%s:%d: no 'key: value'; the front matter ends with a line ---",
				   n->file, line);
	copy = span_copy(a, name);
	for (size_t i = 0; copy && i < NR_KEYS; i++) {
		if (strcmp(copy, keys[i].name) != 0)
			continue;
		*field(n, i) = span_copy(a, value);
		return a->failed ? -ENOMEM : 0;
	}
	return copy ? unknown_key(n, line, copy, err) : -ENOMEM;
}

static int take_front(struct arena *a, struct note *n, struct lines *lines, struct errtext *err)
{
	struct span line;
	int e = 0;

	if (!lines_next(lines, &line) || !span_is(span_trim(line), "---"))
		return errtext_set(err, -EINVAL,
				   "%s:1: no front matter; begin with a line ---, as "
				   "prompts/README.md shows",
				   n->file);
	while (!e) {
		if (!lines_next(lines, &line))
			return errtext_set(err, -EINVAL,
					   "%s:%d: the front matter has no end; close it with ---",
					   n->file, lines->number);
		if (span_is(span_trim(line), "---"))
			return 0;
		if (span_trim(line).len)
			e = take_key(a, n, line, lines->number, err);
	}
	return e;
}

static int check(const struct note *n, const char *expected_id, struct errtext *err)
{
	for (size_t i = 0; i < NR_KEYS; i++) {
		const char *value = *field((struct note *)n, i);

		if (keys[i].needed && (!value || !*value))
			return errtext_set(err, -EINVAL,
					   "%s:1: no '%s'; add it above the second "
					   "---",
					   n->file, keys[i].name);
	}
	if (strcmp(n->id, expected_id) != 0)
		return errtext_set(err, -EINVAL,
				   "%s:1: the id is '%s'; write 'id: %s', as the file is named",
				   n->file, n->id, expected_id);
	return 0;
}

struct body {
	FILE *action;
	bool in_section; /* of "What to do" */
	bool action_done;
	const char *language; /* inside of a fence; NULL: outside, or not one of ours */
	bool fenced;
	const char *code;
};

static int end_fence(struct arena *a, struct note *n, struct body *b, struct span line)
{
	struct note_snippet *s = &n->snippets[n->nr_snippets];

	b->fenced = false;
	if (!b->language)
		return 0;
	s->language = b->language;
	s->code = span_copy(a, (struct span){b->code, (size_t)(line.at - b->code)});
	n->nr_snippets++;
	b->language = NULL;
	return s->code ? 0 : -ENOMEM;
}

static int take_line(struct arena *a, struct note *n, struct body *b, const struct lines *lines,
		     struct span line, struct errtext *err)
{
	struct span text = span_trim(line);

	if (span_begins(text, "```")) {
		if (b->fenced)
			return end_fence(a, n, b, line);
		if (n->nr_snippets == SNIPPETS_MAX)
			return errtext_set(err, -EINVAL,
					   "%s:%d: more than %d blocks of code; leave some out",
					   n->file, lines->number, SNIPPETS_MAX);
		b->fenced = true;
		b->language = language_of(span_trim((struct span){text.at + 3, text.len - 3}));
		b->code = lines->next;
		b->action_done = b->action_done || b->in_section;
		return 0;
	}
	if (b->fenced)
		return 0;
	if (span_begins(text, "## ")) {
		b->in_section = span_is(text, "## What to do");
	} else if (b->in_section && !b->action_done) {
		if (text.len)
			fprintf(b->action, "%s%.*s", ftell(b->action) ? " " : "", (int)text.len,
				text.at);
		else
			b->action_done = ftell(b->action) > 0;
	}
	return 0;
}

static int take_body(struct arena *a, struct note *n, struct lines *lines, struct errtext *err)
{
	char *action = NULL;
	size_t size = 0;
	struct body b = {.action = open_memstream(&action, &size)};
	struct span line;
	int e = b.action ? 0 : -ENOMEM;

	n->body = lines->next;
	n->snippets = arena_alloc(a, SNIPPETS_MAX * sizeof(*n->snippets));
	if (!n->snippets)
		e = -ENOMEM;
	while (!e && lines_next(lines, &line))
		e = take_line(a, n, &b, lines, line, err);
	if (!e && b.fenced)
		e = errtext_set(err, -EINVAL,
				"%s:%d: a block of code has no end; close it with "
				"```",
				n->file, lines->number);
	if (b.action && fclose(b.action) != 0)
		e = -ENOMEM;
	if (!e && !size)
		e = errtext_set(err, -EINVAL,
				"%s:%d: no text in '## What to do'; begin it with a sentence",
				n->file, lines->number);
	if (!e) {
		n->action = arena_bytes(a, action, size).data;
		e = n->action ? 0 : -ENOMEM;
	}
	free(action);
	return e;
}

int note_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct note *ret, struct errtext *err)
{
	struct note note = {.file = file};
	struct lines lines = {.next = text};
	int e = take_front(a, &note, &lines, err);

	if (!e)
		e = check(&note, expected_id, err);
	if (!e)
		e = take_body(a, &note, &lines, err);
	if (!e)
		*ret = note;
	return e;
}
