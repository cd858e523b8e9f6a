/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of a job and its epochs: the time between two marks or, without marks, a pass over its
 * files. Owns these types and their queries.
 */
#ifndef MODEL_EPOCHS_H
#define MODEL_EPOCHS_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"
#include "cachemon/model/model_load.h"

struct model_mark {
	int64_t at_ns; /* since the start of the run */
	struct bytes text;
	struct opt_i64 late_ns; /* the job may have set it so long before; 0: exact */
};

/* An epoch, named by the mark at its start. name.data NULL: it has no name. */
struct model_epoch {
	struct bytes name;
	int64_t start_ns, duration_ns;
	struct opt_i64 cpu_ns;
	struct counts counts;
};

struct model_epochs {
	struct model_mark *marks;
	size_t nr_marks;
	struct opt_i64 marks_dropped; /* marks that did not fit */
	bool marked;		      /* the epochs come from marks */
	const char *absent;	      /* why there are no epochs; NULL: there are */
	struct opt_i64 margin_ns;     /* the largest possible error of their limits */
	struct model_epoch *list;
	size_t nr;
	size_t nr_unseen; /* of these, ended before their mark was taken: they have no counts */
};

/* For a watched job; call it before its counts are estimated. */
int model_epochs_load(sqlite3 *db, struct model *m, const struct model_job *job,
		      struct model_epochs *ret, struct errtext *err);
/* Looks again if it finds no epochs: the job's files are known to be read from the beginning to the
 * end. */
int model_epochs_in_order(sqlite3 *db, struct model *m, const struct model_job *job,
			  struct model_epochs *e, struct errtext *err);

#endif
