/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a document, for those who write one: what a renderer of text, Markdown or HTML
 * does. Owns the table of its functions and what renderers share.
 */
#ifndef REPORT_DOC_OPS_H
#define REPORT_DOC_OPS_H

#include "report/doc.h"

/* What a renderer is given is inert (escape.h); it adds the escapes of its own markup. */
struct doc_ops {
	void (*begin)(struct doc *d, const char *title);
	void (*heading)(struct doc *d, int level, const char *text);
	void (*para)(struct doc *d, const char *text);
	/* Lines, each ended; language may be NULL. */
	void (*code)(struct doc *d, const char *language, const char *text);
	void (*table)(struct doc *d, const struct doc_table *t);
	void (*timeline)(struct doc *d, const struct doc_timeline *t);
	void (*end)(struct doc *d);
};

/* For renderers: a series as a line of at most room characters, equal times each, and its
 * highest value. */
void doc_sparkline(FILE *out, const struct doc_timeline *t, const struct doc_series *s,
		   size_t room);
/* < 0: no point of it was measured. */
double doc_series_top(const struct doc_timeline *t, const struct doc_series *s);

#endif
