/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/note_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SNIPPETS_MAX = 32 };

struct body {
	struct lines what_to_do; /* behind that heading; next NULL: there is none */
	const char *language;	 /* inside of a fence; NULL: outside, or not one of ours */
	bool fenced;
	struct lines code; /* behind the line that begins it */
	struct note_snippet snippets[SNIPPETS_MAX];
	size_t nr_snippets;
};

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

/* Goes through all lines: snippets, and where "What to do" is. */
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

/* The first paragraph, on one line; headings may stand before it where they are passed over. Its
 * words are the text's but for their line ends, so that it fits. "": there is none. */
static const char *paragraph(struct arena *a, struct lines lines, bool behind_headings)
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
			n->action = paragraph(a, section, false);
	}
	if (!e && (!n->action || !*n->action) && form == NOTE_LENIENT)
		n->action = paragraph(a, (struct lines){.next = n->body}, true);
	return a->failed ? -ENOMEM : e;
}

int note_body(struct arena *a, struct note *n, struct lines *lines, enum note_form form,
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
	n->snippets = arena_alloc(a, b.nr_snippets * sizeof(b.snippets[0]));
	if (!n->snippets)
		return -ENOMEM;
	memcpy(n->snippets, b.snippets, b.nr_snippets * sizeof(b.snippets[0]));
	n->nr_snippets = b.nr_snippets;
	return 0;
}
