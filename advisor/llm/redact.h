/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that must not leave the machine (paths, jobs, users, hosts, control groups, commands), and
 * the aliases that replace them. Owns both directions and the final check before sending. An alias
 * is "<KIND-N>"; a file's is "<dir-1>/<file-3>.ext", which keeps a usual ending.
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

/* on false: names stay as they are, and every call returns its input. NULL: no memory. */
struct redact *redact_new(bool on);
void redact_free(struct redact *r);

/*
 * Remembers a name; equal names get equal aliases. If there is no memory for one, every later call
 * of redact_text() returns NULL. Left in texts: words of less than three bytes, numbers, text that
 * looks like a key ("E12"), and relative paths of lowercase letters only. A file's own name is
 * remembered too, unless it could be any word.
 */
void redact_add(struct redact *r, enum name_kind kind, const char *name, size_t len);
/* The text with aliases instead of names, whole words only, longest first; in the arena. Unknown
 * paths get an alias here, except those that every machine has (/proc, /sys/block, redact_path.c).
 * Existing aliases stay, so a text may be passed again after names were added. NULL: no memory. */
const char *redact_text(struct redact *r, struct arena *a, const char *text, size_t len);
/* Adds a public text (notes, instructions): a job called "read" is not a secret if they have
 * that word. The final check ignores names that occur in one. */
void redact_public(struct redact *r, const char *text);
/* The text with names instead of aliases; unknown aliases stay. NULL: no memory. */
const char *redact_restore(const struct redact *r, struct arena *a, const char *text);
/* Length of a known alias at the start of the text, "<file-3>.tar"; 0: none. */
size_t redact_alias_len(const struct redact *r, const char *text, size_t len);
/* The final check: a name that is still in the text to send, before escaping; or NULL. */
const char *redact_left(const struct redact *r, const char *text, size_t len);

#endif
