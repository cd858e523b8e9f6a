/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of a run's losses on its figures: which are lower bounds, and why; and whether the
 * kernel counted more or fewer reads. Owns these judgements and their words, for every format.
 */
#ifndef MODEL_BOUNDS_H
#define MODEL_BOUNDS_H

#include "cachemon/model/model.h"

enum { BOUNDS_MAX = 7 };

struct bound {
	/* a word for programs: "all", "files", "evictions", "refaults", "reads", "advice" */
	const char *figures;
	bool marked;	  /* the figures carry a mark; else rows are missing */
	char reason[320]; /* a sentence */
};

/* The bounds of a run; returns their number. */
size_t bounds_of(const struct model_run *run, struct bound ret[BOUNDS_MAX]);

/* enum counts_bound of a watched job's totals, and of a row of one of its files. */
unsigned int bounds_of_totals(const struct model_run *run);
unsigned int bounds_of_row(const struct model_run *run);
/* For a filesystem of this type. */
unsigned int bounds_of_fstype(const struct model_run *run, const struct bytes *fstype);

/* The reads of a job that the probes saw, compared with the kernel's own count: the tasks' rchar
 * and syscr. */
struct reads_check {
	struct opt_i64 seen_bytes, seen_calls;	   /* read through the cache and past it */
	struct opt_i64 kernel_bytes, kernel_calls; /* read from anything, by any call */
	char warning[400]; /* they differ by more than 1 %; "": they do not */
};

void bounds_check_reads(const struct model_job *job, struct reads_check *ret);

#endif
