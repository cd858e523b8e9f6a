/* SPDX-License-Identifier: BSD-2-Clause */
/* A question while it is asked: shared by word.c (the order of it all) and word_take.c (from
 * checked statements to what a report shows). */
#ifndef WORDING_WORD_IMPL_H
#define WORDING_WORD_IMPL_H

#include "advisor/llm/prompt.h"
#include "cachemon/wording/word.h"

struct kb;

struct word {
	const struct model *m;
	const struct model_job *job;
	const struct word_how *how;
	struct redact *names;
	struct kb *kb;
	struct pack pack;
	struct prompt prompt;
	unsigned int row;	 /* of the pack's bounds */
	struct llm_split *split; /* of an answer that comes in */
	size_t came;		 /* statements of it */
};

/* 0 or -ENOMEM. */
int word_take(const struct word *w, const struct llm_checked *c, struct wording *ret);

/* A struct llm_listener's. */
void word_piece(void *arg, const char *piece, size_t len);
void word_again(void *arg);

#endif
