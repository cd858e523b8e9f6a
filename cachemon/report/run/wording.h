/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statements of a language model about a job that may be shown, the model's name, and what was
 * dropped. Owns the type: wording/ fills it in, a report's sections and data show it. Shown texts
 * contain names and numbers, but come from a model, so the document escapes them. wording_dropped()
 * and wording_line() are in sections_wording.c.
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
	const char *skipped;  /* why there are no statements, one line; NULL: there may be some */
	const char *outcome;  /* llm_outcome_names */
	const char *question; /* NULL: no question */
	const char *api, *host, *model; /* NULL: no model was queried */
	const char *prompt_sha256;	/* hash of the body that --llm-dry-run prints */
	struct opt_i64 asked_ns, duration_ns, tokens_in, tokens_out, attempts;
	bool redacted;			       /* names did not leave the machine */
	const char *warning;		       /* NULL: none */
	struct pack pack;		       /* the data that was sent */
	struct llm_checked checked;	       /* statements by rank of their subject */
	const struct pack_evidence **evidence; /* cited by statements, each once */
	size_t nr_evidence;
};

size_t wording_dropped(const struct wording *w);
/* "Written by MODEL at HOST and checked: 5 statements kept, 2 dropped", or why there are no
 * statements. A line in the arena; NULL: no memory. */
const char *wording_line(struct wording *w);

/* The part of a document, without its heading. NULL w: writes nothing. */
void sections_wording(struct doc *d, const struct wording *w);
/* The model's name and what was dropped; or why there is nothing. */
void sections_wording_line(struct doc *d, const struct wording *w);
/* One statement of it. */
void sections_wording_statement(struct doc *d, const struct llm_statement *s);
/* The evidence of the statements, and the model's name. */
void sections_wording_end(struct doc *d, const struct wording *w);
/* "wording": an object, or null. */
void data_wording(struct tree *t, const struct wording *w);

#endif
