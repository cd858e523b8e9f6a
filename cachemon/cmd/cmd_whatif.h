/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of what-if, a file each: how the answer for a job is found, and how it is shown.
 * Options, the choice of the run, what is around the jobs' answers and the output file are
 * cmd/cmd_whatif.c's.
 */
#ifndef WHATIF_H
#define WHATIF_H

#include <sqlite3.h>

#include "cachemon/render/doc.h"
#include "cachemon/model/model.h"
#include "cachemon/render/tree.h"
#include "cachemon/base/errtext.h"

struct whatif_kind {
	const char *name;
	const char *title;
	size_t answer_size;
	/* Into zeroed memory of that size. 0, also when it has to say why it knows none; or -errno.
	 */
	int (*load)(sqlite3 *db, int64_t job_id, void *answer, struct errtext *err);
	void (*free)(void *answer);
	/* Inside the job's object. */
	void (*json)(struct tree *t, const struct model_run *run, const void *answer);
	/* The job's part of the document, which is plain text. */
	void (*text)(struct doc *d, const struct model_run *run, const struct model_job *job,
		     const void *answer);
};

const struct whatif_kind *whatif_cache(void);
const struct whatif_kind *whatif_readahead(void);

#endif
