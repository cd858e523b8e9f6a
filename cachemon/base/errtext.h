/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of an error: what happened, why, what to do, on one line. Library code fills it next to
 * the -errno it returns; only the verbs print it. Owns the buffer's shape.
 */
#ifndef ERRTEXT_H
#define ERRTEXT_H

struct errtext {
	char text[768];
};

/*
 * Returns err, so that callers can "return errtext_set(…)". e may be NULL. An argument may be
 * e->text, to put words around what is said already. Control characters become '?': the text
 * quotes paths and names that somebody else chose.
 */
int errtext_set(struct errtext *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a full stop, unless there is one: messages about a database are sentences. */
void errtext_end_sentence(struct errtext *e);

#endif
