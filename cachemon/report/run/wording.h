/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a language model said of a job and may be shown, beside who said it and what was dropped.
 * Owns the type: wording/ fills it in, a report's sections and data show it. Texts that are shown
 * have names and numbers put in; they are a model's, so the document makes them inert.
 * wording_dropped() and wording_line() are in sections_wording.c.
 */
#ifndef REPORT_WORDING_H
#define REPORT_WORDING_H

#include "advisor/llm/check.h"
#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"

struct wording {
	struct arena arena;
	int64_t job_id;
	const char *skipped;  /* why there are no statements, a line; NULL: there may be */
	const char *outcome;  /* llm_outcome_names */
	const char *question; /* NULL: none was asked */
	const char *api, *host, *model; /* NULL: nobody was asked */
	const char *prompt_sha256;	/* of the body that --llm-dry-run prints */
	struct opt_i64 asked_ns, duration_ns, tokens_in, tokens_out, attempts;
	bool redacted;			       /* names did not leave the machine */
	const char *warning;		       /* NULL: none */
	struct pack pack;		       /* what was sent */
	struct llm_checked checked;	       /* statements by rank of what they are about */
	const struct pack_evidence **evidence; /* that statements cite, each once */
	size_t nr_evidence;
};

extern const char *const wording_confidence_names[]; /* by enum llm_confidence */

size_t wording_dropped(const struct wording *w);
/* "Worded by MODEL at HOST, checked: 5 statements kept, 2 dropped". Or why
 * there are none. A line in the arena; NULL: no memory. */
const char *wording_line(struct wording *w);

/* The part of a document, without its heading. NULL w: nothing. */
void sections_wording(struct doc *d, const struct wording *w);
/* Who said it and what was dropped; or why there is nothing. */
void sections_wording_line(struct doc *d, const struct wording *w);
/* One statement of it. */
void sections_wording_statement(struct doc *d, const struct llm_statement *s);
/* What the statements rest on, and who said it. */
void sections_wording_end(struct doc *d, const struct wording *w);
/* "wording": an object, or null. */
void data_wording(struct tree *t, const struct wording *w);

#endif
