/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "advisor/rules/applies.h"
#include "advisor/rules/note_impl.h"
#include "cachemon/base/suggest.h"

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

/* A note while its front matter is read. */
struct front {
	struct note *note;
	enum note_form form;
	int lines[NR_KEYS]; /* where a key stood; 0: nowhere yet */
};

static const char **field(struct note *n, size_t i)
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
	/* A user's notes may have keys for other programs. What looks like one of ours is ours. */
	if (!near && f->form == NOTE_LENIENT)
		return 0;
	return errtext_set(err, -EINVAL, "%s:%d: unknown key '%s'; %s%s%s", f->note->file, line,
			   name, near ? "did you mean '" : "see prompts/README.md",
			   near ? near : "", near ? "'?" : "");
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
		*field(f->note, i) = span_copy(a, value);
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

static int line_of(const struct front *f, const char *const *value)
{
	for (size_t i = 0; i < NR_KEYS; i++)
		if (field(f->note, i) == value)
			return f->lines[i];
	return 0;
}

/* How much of a piece stands in a message. */
static int shown(struct span s)
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
		errtext_set(err, e, "%s:%d: '%.*s' is no place where a note applies; %s", n->file,
			    line_of(f, &n->applies_to), shown(term.value), term.value.at, wrong);
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
			return errtext_set(err, -EINVAL,
					   "%s:%d: '%.*s' is no id of a finding; write [a-finding, "
					   "another]",
					   n->file, line_of(f, &n->findings.text), shown(id),
					   id.at);
		if (n->findings.nr == NOTE_FINDINGS_MAX)
			return errtext_set(err, -EINVAL, "%s:%d: more than %d findings", n->file,
					   line_of(f, &n->findings.text), NOTE_FINDINGS_MAX);
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

static int check(const struct front *f, const char *expected_id, struct errtext *err)
{
	const struct note *n = f->note;

	for (size_t i = 0; i < NR_KEYS; i++) {
		const char *value = *field(f->note, i);
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

static int parse(struct arena *a, const char *file, const char *id, const char *text,
		 enum note_form form, struct note *ret, struct errtext *err)
{
	struct note note = {.file = file};
	struct front front = {.note = &note, .form = form};
	struct lines lines = {.next = text};
	int e = take_front(a, &front, &lines, err);

	if (!e)
		e = check(&front, id, err);
	if (!e)
		e = check_applies(&front, err);
	if (!e)
		e = take_findings(a, &front, err);
	if (!e)
		e = note_body(a, &note, &lines, form, err);
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
	return parse(a, file, expected_id, text, NOTE_WHOLE, ret, err);
}

int note_parse_lenient(struct arena *a, const char *file, const char *id, const char *text,
		       struct note *ret, struct errtext *err)
{
	return parse(a, file, id, text, NOTE_LENIENT, ret, err);
}
