/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The knowledge base: all built-in notes and the user's, in an in-memory full-text index of SQLite
 * (FTS5). Owns retrieval: which notes belong to a run. The notes of the findings come first, then
 * notes that the machine's facts allow, ranked by BM25 and by the findings that a note names. Equal
 * queries give equal results.
 */
#ifndef LLM_KB_H
#define LLM_KB_H

#include "advisor/rules/rule.h"
#include "advisor/rules/rule_set.h"
#include "cachemon/base/errtext.h"

struct kb;

/* Facts about the machine. NULL or empty: unknown, which excludes no note. */
struct kb_facts {
	const char *const *filesystems; /* "ext4", "nfs4", "fuse.sshfs": of the job's files */
	size_t nr_filesystems;
	const char *const *devices; /* "rotational", "ssd", "network" */
	size_t nr_devices;
	const char *kernel; /* "6.12.9-amd64" */
	const char *cgroup; /* "v1", "v2" */
};

struct kb_query {
	const char *const *findings; /* ids, most important first */
	size_t nr_findings;
	const struct kb_facts *facts; /* NULL: no facts */
	/* Any text, or NULL; it is not parsed as a query language. */
	const char *question; /* counts most */
	const char *words;    /* summaries and the like */
	size_t max_notes;     /* LLM_NOTES_MAX */
	size_t max_tokens;    /* LLM_TOKENS_NOTES */
};

struct kb_hit {
	const struct note *note; /* owned by the kb; ids of a user's notes begin with "user:" */
	const char *text; /* what to send: title, precondition, action, risk, check; printable */
	bool of_user;
};

/*
 * notes_dir: the user's directory of *.md files (NULL: none). A faulty file is left out and
 * reported through problem() as "FILE:LINE: what is wrong; what to do". set outlives the kb. 0 or
 * -errno with a text.
 */
int kb_open(const struct rule_set *set, const char *notes_dir,
	    void (*problem)(void *arg, const char *text), void *arg, struct kb **ret,
	    struct errtext *err);
void kb_free(struct kb *kb);

/*
 * hits has room for max_notes; their texts are in a. Sorted: first the findings' own notes in the
 * order of the query, then others. Two places are reserved for others, if there are any, so that a
 * run with many findings leaves room for the question. 0 or -errno with a text.
 */
int kb_find(struct kb *kb, const struct kb_query *q, struct arena *a, struct kb_hit *hits,
	    size_t *ret_nr, struct errtext *err);

#endif
