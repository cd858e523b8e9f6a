/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/kb_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"

void kb_free(struct kb *kb)
{
	if (!kb)
		return;
	sqlite3_finalize(kb->search);
	sqlite3_close(kb->db);
	arena_free(&kb->arena);
	free(kb->notes);
	free(kb);
}

/* The program's, then the user's. */
static int gather(struct kb *kb, const struct rule_set *set, const char *notes_dir,
		  const struct kb_problems *problems)
{
	size_t room = set->nr_notes + (notes_dir ? KB_USER_NOTES_MAX : 0), nr = 0;
	int e = 0;

	kb->notes = calloc(room ? room : 1, sizeof(*kb->notes));
	if (!kb->notes)
		return -ENOMEM;
	for (size_t i = 0; i < set->nr_notes; i++)
		kb->notes[kb->nr_notes++].note = set->notes[i];
	if (notes_dir)
		e = kb_user_load(&kb->arena, notes_dir, problems, kb->notes + kb->nr_notes, &nr);
	kb->nr_notes += nr;
	return e;
}

int kb_open(const struct rule_set *set, const char *notes_dir,
	    void (*problem)(void *arg, const char *text), void *arg, struct kb **ret,
	    struct errtext *err)
{
	const struct kb_problems problems = {problem, arg};
	struct kb *kb = calloc(1, sizeof(*kb));
	int e = kb ? gather(kb, set, notes_dir, &problems) : -ENOMEM;

	if (e == -ENOMEM)
		errtext_set(err, e, "not enough memory for the notes");
	if (!e)
		e = kb_index(kb, err);
	if (e) {
		kb_free(kb);
		return e;
	}
	*ret = kb;
	return 0;
}
