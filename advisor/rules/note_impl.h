/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the notes: shared by note.c (front matter), note_body.c (Markdown below it) and
 * note_expand.c (shared texts). */
#ifndef NOTE_IMPL_H
#define NOTE_IMPL_H

#include "advisor/rules/rule.h"
#include "advisor/rules/text.h"

enum note_form {
	NOTE_WHOLE,   /* the program's and a site's: all keys, sections of known names */
	NOTE_LENIENT, /* a user's: what is there is taken */
};

/* From the line behind the front matter on: body, snippets, and the action where no key has it. */
int note_body(struct arena *a, struct note *n, struct lines *lines, enum note_form form,
	      struct errtext *err);

/* The lines up to end with the shared texts in. 0, -EINVAL, or -ENOMEM. */
int note_expand(struct arena *a, const char *file, struct lines from, const char *end,
		const char **ret, struct errtext *err);

#endif
