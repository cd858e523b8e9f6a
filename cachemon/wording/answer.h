/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answer to a question as a document or as data: the statements that were kept, what they rest
 * on, who said it; or that the data does not say. Owns that page.
 */
#ifndef WORDING_ANSWER_H
#define WORDING_ANSWER_H

#include "cachemon/report/run/report.h"
#include "cachemon/wording/word.h"

struct answer_place {
	enum report_format format;
	const char *path; /* NULL: standard output */
};

/* 0 or -errno with a text. */
int answer_write(const struct model *m, const struct wording *w, const struct answer_place *to,
		 struct errtext *err);

/* The same as text on standard output, statement by statement as they come. */
struct answer_stream {
	bool begun;
	const struct model *m;
	const struct word_how *how;
	struct doc doc;
	size_t nr; /* statements that are shown */
};

/* Makes how tell the stream what comes in. */
void answer_stream_begin(struct answer_stream *s, const struct model *m, struct word_how *how);
int answer_stream_end(struct answer_stream *s, const struct wording *w, struct errtext *err);

#endif
