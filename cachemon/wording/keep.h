/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a model's words stay: in the run's database; where that cannot be written, in a file beside
 * the report. Owns that choice.
 */
#ifndef WORDING_KEEP_H
#define WORDING_KEEP_H

#include "cachemon/report/run/wording.h"
#include "cachemon/base/errtext.h"
#include "cachemon/access/invoker.h"

struct keep_place {
	const char *db;
	int64_t run_id;
	const char *report; /* its path; NULL: it has none */
};

/* Nothing when nobody was asked. 0: in the database. 1: elsewhere or nowhere, which ret_said says,
 * a line. -errno with a text in ret_said. */
int wording_keep(const struct wording *w, const struct keep_place *place, struct errtext *ret_said);

#endif
