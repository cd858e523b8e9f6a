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

enum { KB_USER_NOTES_MAX = 4096, KB_USER_FILE_MAX = 256 * 1024, KB_USER_ALL_MAX = 16 << 20 };

/* kb_notes.c: adds the notes of a directory, by name; there is room for KB_USER_NOTES_MAX. problem
 * hears what is wrong; NULL: nobody does. 0 or -ENOMEM. */
int kb_load_user(struct kb *kb, const char *dir, void (*problem)(void *arg, const char *text),
		 void *arg);
/* What of a note is sent; NULL: no memory. */
const char *kb_text(struct arena *a, const struct note *note);

/* kb_query.c: what to search for, "\"word\" OR \"word\""; false: no word counts. */
enum { KB_WORDS_MAX = 64, KB_WORD_MAX = 40, KB_MATCH_MAX = KB_WORDS_MAX * (KB_WORD_MAX + 8) };
bool kb_words(const char *text, char ret[KB_MATCH_MAX]);
/* Whether a note holds for a machine. *ret_named: by a fact that it names. */
bool kb_allows(const struct note *note, const struct kb_facts *facts, bool *ret_named);

#endif
