/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model's text for the main job of a report: pack, prompt, one question over the network, checks.
 * Owns that order, and the fallback if any of it fails: the same report with a one-line note.
 */
#ifndef WORDING_WORD_H
#define WORDING_WORD_H

#include "advisor/llm/http/client.h"
#include "cachemon/report/run/wording.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/progress.h"

struct word_how {
	const struct llm_config *config;
	const char *unusable; /* why no model may be queried, a line; NULL: it may */
	const struct invoker *as;
	const char *notes_dir; /* a user's; NULL: none */
	const char *question;  /* NULL: explain the findings */
	bool redact;
	void (*on_problem)(void *arg, const char *problem); /* in a note; one per line */
	const struct progress_sink *progress;
};

/* Returns 0 also without an answer; then ret->skipped has the reason. -errno with a text: memory,
 * or a local error. ret points to ids in m's rules, so free it before m. */
int word_model(const struct model *m, const struct word_how *how, struct wording *ret,
	       struct errtext *err);
void wording_free(struct wording *w);

/* The request, byte for byte; malloc'ed. */
int word_body(const struct model *m, const struct word_how *how, char **ret_body,
	      size_t *ret_tokens, struct errtext *err);

#endif
