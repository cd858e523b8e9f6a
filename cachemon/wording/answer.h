/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model's words as they stay: the answer to a question as a document or as data (the statements
 * that were kept, what they rest on, who said it; or that the data does not say), and all words in
 * the run's database or, where that cannot be written, in a file beside the report.
 */
#ifndef WORDING_ANSWER_H
#define WORDING_ANSWER_H

#include "cachemon/report/run/report.h"
#include "cachemon/wording/word.h"

struct answer_place {
	const char *db;
	int64_t run_id;
	enum report_format format;
	const char *path; /* NULL: standard output */
};

/* 0 or -errno with a text. */
int answer_write(const struct model *m, const struct wording *w, const struct answer_place *to,
		 struct errtext *err);

/* Nothing when nobody was asked. 0: in the database; else elsewhere or nowhere, which ret_said
 * says, a line. */
int answer_keep(const struct wording *w, const struct answer_place *place,
		struct errtext *ret_said);

#endif
