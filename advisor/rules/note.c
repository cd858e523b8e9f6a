/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/applies.h"
#include "advisor/rules/note_expand.h"
#include "advisor/rules/rule.h"
#include "cachemon/base/suggest.h"

enum note_form {
	NOTE_WHOLE,   /* built-in and site notes: all keys, known sections */
	NOTE_LENIENT, /* user's notes: any keys and sections */
};

static const struct {
	const char *name;
	size_t offset;
	bool needed;
} keys[] = {
	{"id", offsetof(struct note, id), true},
	{"title", offsetof(struct note, title), true},
	{"findings", offsetof(struct note, findings.text), false},
	{"applies_to", offsetof(struct note, applies_to), false},
	{"precondition", offsetof(struct note, precondition), false},
	{"action", offsetof(struct note, action), false},
	{"facts", offsetof(struct note, facts), false},
	{"keywords", offsetof(struct note, keywords), false},
	{"risk", offsetof(struct note, risk), true},
	{"undo", offsetof(struct note, undo), true},
	{"verify", offsetof(struct note, verify), true},
	{"source", offsetof(struct note, source), false},
};

enum { NR_KEYS = sizeof(keys) / sizeof(keys[0]), SHOWN_MAX = 60 };

/* A note while its front matter is parsed. */
struct front {
	struct note *note;
	enum note_form form;
	int lines[NR_KEYS]; /* line of a key; 0: not seen yet */
};

static const char **field_of(struct note *n, size_t i)
{
	return (const char **)((char *)n + keys[i].offset);
}

static int unknown_key(const struct front *f, int line, const char *name, struct errtext *err)
{
	const char *names[NR_KEYS];
	const char *near;

	for (size_t i = 0; i < NR_KEYS; i++)
		names[i] = keys[i].name;
	near = suggest_nearest(name, names, NR_KEYS);
	/* A user's notes may have keys for other programs. Keys that look like cachemon's are
	 * checked. */
	if (!near && f->form == NOTE_LENIENT)
		return 0;
	return errtext_set(err, -EINVAL, "%s:%d: unknown key '%s'; %s", f->note->file, line, name,
			   suggest_text(near, "see prompts/README.md").text);
}

static int take_key(struct arena *a, struct front *f, struct span text, int line,
		    struct errtext *err)
{
	struct span name, value;
	const char *copy;

	if (!span_cut(text, ':', &name, &value))
		return f->form == NOTE_LENIENT
			       ? 0
			       : errtext_set(err, -EINVAL,
					     "%s:%d: no 'key: value'; the front matter ends with a "
					     "line ---",
					     f->note->file, line);
	copy = span_copy(a, name);
	for (size_t i = 0; copy && i < NR_KEYS; i++) {
		if (strcmp(copy, keys[i].name) != 0)
			continue;
		if (f->lines[i])
			return errtext_set(err, -EINVAL, "%s:%d: a second '%s'; leave one out",
					   f->note->file, line, copy);
		f->lines[i] = line;
		*field_of(f->note, i) = span_copy(a, value);
		return a->failed ? -ENOMEM : 0;
	}
	return copy ? unknown_key(f, line, copy, err) : -ENOMEM;
}

static int take_front(struct arena *a, struct front *f, struct lines *lines, struct errtext *err)
{
	struct span line;
	int e = 0;

	if (!lines_next(lines, &line) || !span_is(span_trim(line), "---"))
		return errtext_set(err, -EINVAL,
				   "%s:1: no front matter; begin with a line ---, as "
				   "prompts/README.md shows",
				   f->note->file);
	while (!e) {
		if (!lines_next(lines, &line))
			return errtext_set(err, -EINVAL,
					   "%s:%d: the front matter has no end; close it with ---",
					   f->note->file, lines->number);
		if (span_is(span_trim(line), "---"))
			return 0;
		if (span_trim(line).len)
			e = take_key(a, f, line, lines->number, err);
	}
	return e;
}

static int line_of_key(const struct front *f, const char *const *value)
{
	for (size_t i = 0; i < NR_KEYS; i++)
		if (field_of(f->note, i) == value)
			return f->lines[i];
	return 0;
}

/* Length of an excerpt in a message. */
static int shown_len(struct span s)
{
	return s.len < SHOWN_MAX ? (int)s.len : SHOWN_MAX;
}

static int check_applies(struct front *f, struct errtext *err)
{
	struct note *n = f->note;
	struct applies_term term;
	const char *wrong = NULL;
	struct span list;
	int e;

	if (!n->applies_to)
		return 0;
	list = (struct span){n->applies_to, strlen(n->applies_to)};
	do {
		e = applies_next(&list, &term, &wrong);
	} while (e > 0);
	if (e)
		errtext_set(err, e, "%s:%d: '%.*s' is not a place where a note applies; %s",
			    n->file, line_of_key(f, &n->applies_to), shown_len(term.value),
			    term.value.at, wrong);
	return e;
}

static int take_findings(struct arena *a, struct front *f, struct errtext *err)
{
	struct note *n = f->note;
	const char **ids = NULL;
	struct span list, id;

	if (!n->findings.text)
		return 0;
	list = (struct span){n->findings.text, strlen(n->findings.text)};
	while (list_next(&list, &id)) {
		if (!span_is_name(id, "-"))
			return errtext_set(
				err, -EINVAL,
				"%s:%d: '%.*s' is not the id of a finding; write [a-finding, "
				"another]",
				n->file, line_of_key(f, &n->findings.text), shown_len(id), id.at);
		if (n->findings.nr == NOTE_FINDINGS_MAX)
			return errtext_set(err, -EINVAL, "%s:%d: more than %d findings", n->file,
					   line_of_key(f, &n->findings.text), NOTE_FINDINGS_MAX);
		if (!ids)
			ids = arena_alloc(a, NOTE_FINDINGS_MAX * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		ids[n->findings.nr] = span_copy(a, id);
		if (!ids[n->findings.nr++])
			return -ENOMEM;
	}
	n->findings.id = ids;
	return 0;
}

static int check_keys(const struct front *f, const char *expected_id, struct errtext *err)
{
	const struct note *n = f->note;

	for (size_t i = 0; i < NR_KEYS; i++) {
		const char *value = *field_of(f->note, i);
		bool needed = keys[i].needed;

		if (f->form == NOTE_LENIENT)
			needed = strcmp(keys[i].name, "title") == 0;
		if (needed && (!value || !*value))
			return errtext_set(err, -EINVAL,
					   "%s:1: no '%s'; add it above the second "
					   "---",
					   n->file, keys[i].name);
	}
	if (f->form == NOTE_WHOLE && strcmp(n->id, expected_id) != 0)
		return errtext_set(err, -EINVAL,
				   "%s:1: the id is '%s'; write 'id: %s', as the file is named",
				   n->file, n->id, expected_id);
	return 0;
}

enum { SNIPPETS_MAX = 32 };

struct body {
	struct lines what_to_do; /* after that heading; next NULL: no such heading */
	const char *language;	 /* inside a fence; NULL: outside, or unknown language */
	bool fenced;
	struct lines code; /* after the line that begins it */
	struct note_snippet snippets[SNIPPETS_MAX];
	size_t nr_snippets;
};

/* The name of a fence's language in a report. NULL: unknown language. */
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

static int end_fence(struct arena *a, const char *file, struct body *b, struct span line,
		     struct errtext *err)
{
	struct note_snippet *s = &b->snippets[b->nr_snippets];

	b->fenced = false;
	if (!b->language)
		return 0;
	s->language = b->language;
	b->nr_snippets++;
	b->language = NULL;
	return note_expand(a, file, b->code, line.at, &s->code, err);
}

static int take_fence(struct arena *a, const char *file, struct body *b, const struct lines *lines,
		      struct span line, struct errtext *err)
{
	struct span text = span_trim(line);

	if (b->fenced)
		return end_fence(a, file, b, line, err);
	if (b->nr_snippets == SNIPPETS_MAX)
		return errtext_set(err, -EINVAL,
				   "%s:%d: more than %d blocks of code; leave some out", file,
				   lines->number, SNIPPETS_MAX);
	b->fenced = true;
	b->language = language_of(span_trim((struct span){text.at + 3, text.len - 3}));
	b->code = *lines;
	return 0;
}

/* Collects snippets from all lines, and the place of "What to do". */
static int look_through(struct arena *a, const char *file, struct lines *lines, struct body *b,
			struct errtext *err)
{
	struct span line;
	int e = 0;

	while (!e && lines_next(lines, &line)) {
		struct span text = span_trim(line);

		if (span_begins(text, "```"))
			e = take_fence(a, file, b, lines, line, err);
		else if (!b->fenced && !b->what_to_do.next && span_is(text, "## What to do"))
			b->what_to_do = *lines;
	}
	if (!e && b->fenced)
		e = errtext_set(err, -EINVAL,
				"%s:%d: a block of code has no end; close it with "
				"```",
				file, lines->number);
	return e;
}

/* The first paragraph, on one line; headings before it are skipped on request. It fits, because
 * only line ends change. "": no paragraph. */
static const char *first_paragraph(struct arena *a, struct lines lines, bool behind_headings)
{
	char *words = arena_alloc(a, strlen(lines.next) + 1);
	struct span line;
	size_t len = 0;

	while (words && lines_next(&lines, &line)) {
		struct span text = span_trim(line);

		if (!len && (!text.len || (behind_headings && text.at[0] == '#')))
			continue;
		if (!text.len || text.at[0] == '#' || span_begins(text, "```"))
			break;
		if (len)
			words[len++] = ' ';
		memcpy(words + len, text.at, text.len);
		len += text.len;
	}
	return words;
}

/* end: of the whole text. */
static int find_action(struct arena *a, struct note *n, const struct body *b, const char *end,
		       enum note_form form, struct errtext *err)
{
	struct lines section = {0};
	int e = 0;

	if (!n->action && b->what_to_do.next) {
		e = note_expand(a, n->file, b->what_to_do, end, &section.next, err);
		if (!e)
			n->action = first_paragraph(a, section, false);
	}
	if (!e && (!n->action || !*n->action) && form == NOTE_LENIENT)
		n->action = first_paragraph(a, (struct lines){.next = n->body}, true);
	return a->failed ? -ENOMEM : e;
}

/* The part after the front matter: body, snippets, and the action if no key has it. */
static int read_body(struct arena *a, struct note *n, struct lines *lines, enum note_form form,
		     struct errtext *err)
{
	struct lines whole = *lines;
	struct body b = {0};
	int e = look_through(a, n->file, lines, &b, err);

	if (!e)
		e = note_expand(a, n->file, whole, lines->next, &n->body, err);
	if (!e)
		e = find_action(a, n, &b, lines->next, form, err);
	if (!e && (!n->action || !*n->action))
		e = errtext_set(err, -EINVAL,
				"%s:%d: no text in '## What to do'; begin it with a sentence",
				n->file, lines->number);
	if (e || !b.nr_snippets)
		return e;
	n->nr_snippets = b.nr_snippets;
	n->snippets = arena_copy(a, b.snippets, b.nr_snippets * sizeof(b.snippets[0]));
	return n->snippets ? 0 : -ENOMEM;
}

static int parse_note(struct arena *a, const char *file, const char *id, const char *text,
		      enum note_form form, struct note *ret, struct errtext *err)
{
	struct note note = {.file = file};
	struct front front = {.note = &note, .form = form};
	struct lines lines = {.next = text};
	int e = take_front(a, &front, &lines, err);

	if (!e)
		e = check_keys(&front, id, err);
	if (!e)
		e = check_applies(&front, err);
	if (!e)
		e = take_findings(a, &front, err);
	if (!e)
		e = read_body(a, &note, &lines, form, err);
	if (e)
		return e;
	if (form == NOTE_LENIENT)
		note.id = id;
	*ret = note;
	return 0;
}

int note_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct note *ret, struct errtext *err)
{
	return parse_note(a, file, expected_id, text, NOTE_WHOLE, ret, err);
}

int note_parse_lenient(struct arena *a, const char *file, const char *id, const char *text,
		       struct note *ret, struct errtext *err)
{
	return parse_note(a, file, id, text, NOTE_LENIENT, ret, err);
}
