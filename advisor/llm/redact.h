/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that shall not leave the machine, and the aliases that stand for them: paths, jobs, users,
 * hosts, control groups, commands. Owns both directions and the last look before anything is sent.
 * An alias is "<KIND-N>", of a file "<dir-1>/<file-3>.ext" (the ending is kept when it is plain).
 */
#ifndef LLM_REDACT_H
#define LLM_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/base/arena.h"

enum name_kind {
	NAME_PATH,
	NAME_DIRECTORY,
	NAME_JOB,
	NAME_USER,
	NAME_HOST,
	NAME_CGROUP,
	NAME_COMMAND,
	NAME_NR
};

struct redact;

/* on false: names stay as they are, and every call gives back what it got. NULL: no memory. */
struct redact *redact_new(bool on);
void redact_free(struct redact *r);

/*
 * Remembers a name; the same one has the same alias. 0 or -ENOMEM. Nobody's, and left in texts:
 * words of less than three bytes, numbers, what looks like a key ("E12"), a relative path of small
 * letters alone. Of a file, its own name is one too, unless that could be any word.
 */
int redact_add(struct redact *r, enum name_kind kind, const char *name, size_t len);
/* The text with aliases where names stood, whole words only, longest first; in the arena. A path
 * that was not added gets an alias here, but for those that every machine has (/proc, /sys/block,
 * redact.c). Aliases of ours stay: a text may be passed again when names
 * were learned since. NULL: no memory. */
const char *redact_text(struct redact *r, struct arena *a, const char *text, size_t len);
/* A text that everybody has (notes, instructions): a job called "read" is no secret because they
 * have that word. The last look passes over names that stand in one. 0 or -ENOMEM. */
int redact_public(struct redact *r, const char *text);
/* The text with names where aliases stood; aliases that nobody has stay. NULL: no memory. */
const char *redact_restore(const struct redact *r, struct arena *a, const char *text);
/* How much of the text is an alias of ours that begins it, "<file-3>.tar"; 0: there is none. */
size_t redact_alias_len(const struct redact *r, const char *text, size_t len);
/* The last look: a name that is still in what is to be sent, before it is escaped; or NULL. */
const char *redact_left(const struct redact *r, const char *text, size_t len);

#endif
