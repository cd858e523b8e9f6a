/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the knowledge base, shared by kb_*.c. Owns its memory and the order of its notes. */
#ifndef LLM_KB_IMPL_H
#define LLM_KB_IMPL_H

#include <sqlite3.h>

#include "advisor/llm/kb.h"

struct kb_note {
	struct note note;
	bool of_user;
};

struct kb {
	sqlite3 *db; /* in-memory database; note i is row i + 1 */
	sqlite3_stmt *search;
	struct arena arena;
	struct kb_note *notes;
	size_t nr_notes;
};

enum { KB_USER_NOTES_MAX = 4096, KB_USER_FILE_MAX = 256 * 1024, KB_USER_ALL_MAX = 16 << 20 };

/* kb_notes.c: adds the notes of a directory, sorted by name; there is room for
 * KB_USER_NOTES_MAX. problem (may be NULL) receives errors. 0 or -ENOMEM. */
int kb_load_user(struct kb *kb, const char *dir, void (*problem)(void *arg, const char *text),
		 void *arg);
/* The text of a note to send; NULL: no memory. */
const char *kb_text(struct arena *a, const struct note *note);

/* kb_query.c: the FTS5 query, "\"word\" OR \"word\""; false: the text has no usable word. */
enum { KB_WORDS_MAX = 64, KB_WORD_MAX = 40, KB_MATCH_MAX = KB_WORDS_MAX * (KB_WORD_MAX + 8) };
bool kb_words(const char *text, char ret[KB_MATCH_MAX]);
/* Whether a note applies to a machine. *ret_named: because of a fact that it names. */
bool kb_allows(const struct note *note, const struct kb_facts *facts, bool *ret_named);

#endif
