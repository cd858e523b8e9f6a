/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the knowledge base: shared by the kb_*.c. Owns its memory and the order of its notes.
 */
#ifndef LLM_KB_IMPL_H
#define LLM_KB_IMPL_H

#include <sqlite3.h>

#include "advisor/llm/kb.h"

struct kb_note {
	struct note note;
	bool of_user;
};

struct kb {
	sqlite3 *db; /* in memory; the row of note i is i + 1 */
	sqlite3_stmt *search;
	struct arena arena;
	struct kb_note *notes;
	size_t nr_notes;
};

/* Who is told of what is wrong in a user's notes. */
struct kb_problems {
	void (*say)(void *arg, const char *text);
	void *arg;
};

enum { KB_USER_NOTES_MAX = 4096, KB_USER_FILE_MAX = 256 * 1024, KB_USER_ALL_MAX = 16 << 20 };

/* kb_notes.c: the notes of a directory, by name; room for KB_USER_NOTES_MAX. 0 or -ENOMEM. */
int kb_user_load(struct arena *a, const char *dir, const struct kb_problems *problems,
		 struct kb_note *notes, size_t *ret_nr);

/* kb_query.c: what to search for, "\"word\" OR \"word\""; NULL: no word counts. *ret_failed: no
 * memory. */
char *kb_words(const char *text, bool *ret_failed);

/* kb_query.c: whether a note holds for a machine. *ret_named: by a fact that it names. */
bool kb_allows(const struct note *note, const struct kb_facts *facts, bool *ret_named);

/* kb_notes.c: what of a note is sent; NULL: no memory. */
const char *kb_text(struct arena *a, const struct note *note);
/* A copy in which every character is only seen, on one line. NULL: no memory. */
char *kb_inert(struct arena *a, const char *text, size_t len);

#endif
