/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps a model's answer: as a document or as data (the kept statements, their evidence, the
 * model's name; or that the data has no answer), and all texts in the run's database or, if that is
 * not writable, in a file next to the report.
 */
#ifndef WORDING_ANSWER_H
#define WORDING_ANSWER_H

#include "cachemon/report/run/report.h"
#include "cachemon/wording/word.h"

/* In the format and to the place of a report. 0 or -errno with a text. */
int answer_write(const struct model *m, const struct wording *w, const struct report_options *to,
		 struct errtext *err);

/* Stores the answer; does nothing if no model was queried. 0: stored in the database; else the
 * answer is stored elsewhere or not at all, and ret_said has a line about it. */
int answer_keep(const struct wording *w, const struct report_options *place, int64_t run_id,
		struct errtext *ret_said);

#endif
