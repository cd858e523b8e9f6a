/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of an error: what happened, why, what to do, on one line. Library code fills it next to
 * the -errno that it returns; only the verbs print it. Owns the layout of the buffer.
 */
#ifndef ERRTEXT_H
#define ERRTEXT_H

struct errtext {
	char text[768];
};

/*
 * Returns err, so that callers can write "return errtext_set(…)". e may be NULL. An argument may be
 * e->text, to add context to an error. Control characters become '?', because the text quotes
 * foreign paths and names.
 */
int errtext_set(struct errtext *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a full stop, unless there is one: messages about a database are sentences. */
void errtext_end_sentence(struct errtext *e);

#endif
