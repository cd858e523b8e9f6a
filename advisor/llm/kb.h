/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The knowledge base: all notes of the program and of a user's directory, in a full-text index of
 * SQLite (FTS5) that lives in memory. Owns retrieval: which notes belong to a run. First the notes
 * of the findings themselves, then what the machine's facts allow, by BM25 and by the findings that
 * a note names. The same question has the same answer, in the same order.
 */
#ifndef LLM_KB_H
#define LLM_KB_H

#include "advisor/rules/rule.h"
#include "advisor/rules/rule_set.h"
#include "cachemon/base/errtext.h"

struct kb;

/* What is known of the machine; NULL or empty: not known, which excludes nothing. */
struct kb_facts {
	const char *const *filesystems; /* "ext4", "nfs4", "fuse.sshfs" of the job's files */
	size_t nr_filesystems;
	const char *const *devices; /* "rotational", "ssd", "network" */
	size_t nr_devices;
	const char *kernel; /* "6.12.9-amd64" */
	const char *cgroup; /* "v1", "v2" */
};

struct kb_query {
	const char *const *findings; /* ids, most important first */
	size_t nr_findings;
	const struct kb_facts *facts; /* NULL: nothing is known */
	/* Any text, or NULL: no syntax of a query language is in either. */
	const char *question; /* counts most */
	const char *words;    /* summaries and the like */
	size_t max_notes;     /* LLM_NOTES_MAX */
	size_t max_tokens;    /* LLM_TOKENS_NOTES */
};

struct kb_hit {
	const struct note *note; /* the kb's; the id of a user's begins with "user:" */
	const char *text; /* what of it to send: title, precondition, action, risk, check; inert */
	bool of_user;
};

/*
 * notes_dir: a user's (NULL: none), files *.md; what is wrong in one costs that file and is said by
 * problem(), "FILE:LINE: what is wrong; what to do". set outlives the kb. 0 or -errno with a text.
 */
int kb_open(const struct rule_set *set, const char *notes_dir,
	    void (*problem)(void *arg, const char *text), void *arg, struct kb **ret,
	    struct errtext *err);
void kb_free(struct kb *kb);

/*
 * hits has room for max_notes; their texts are in a. In the order they are to be told: own notes of
 * the findings, as the query has them, then others. Two places are for others, where there are any:
 * a run with many findings leaves room for what was asked. 0 or -errno with a text.
 */
int kb_find(struct kb *kb, const struct kb_query *q, struct arena *a, struct kb_hit *hits,
	    size_t *ret_nr, struct errtext *err);

#endif
