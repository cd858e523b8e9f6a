/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of a job and its epochs: the time between two marks or, of a job that set none, a pass over
 * its files. Owns those types and the queries for them.
 */
#ifndef MODEL_EPOCHS_H
#define MODEL_EPOCHS_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"
#include "cachemon/model/model_load.h"

struct model_mark {
	int64_t at_ns; /* since the start of the run */
	struct bytes text;
};

/* Its name is that of the mark at its start; without data: it has none. */
struct model_epoch {
	struct bytes name;
	int64_t start_ns, duration_ns;
	struct opt_i64 cpu_ns;
	struct counts counts;
};

struct model_epochs {
	struct model_mark *marks;
	size_t nr_marks;
	struct opt_i64 marks_dropped; /* for which there was no room */
	bool marked;		      /* the epochs are by marks, and their counts exact */
	const char *absent;	      /* why there are none; NULL: there are */
	int64_t margin_ns;	      /* of epochs that were found: how far a bound may be off */
	struct model_epoch *list;
	size_t nr;
};

/* Of a watched job, before estimates are made of its counts. */
int model_epochs_load(sqlite3 *db, struct model *m, const struct model_job *job,
		      struct model_epochs *ret, struct errtext *err);

#endif
