/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the losses of a run make of its figures: which of them are lower bounds, and why. Owns that
 * judgement and its words, for every format.
 */
#ifndef REPORT_BOUNDS_H
#define REPORT_BOUNDS_H

#include "cachemon/model/model.h"

enum { BOUNDS_MAX = 7 };

struct bound {
	/* a word for programs: "all", "files", "evictions", "refaults", "reads", "advice" */
	const char *figures;
	bool marked;	  /* the figures carry a mark; else it is rows that are missing */
	char reason[320]; /* a sentence */
};

/* Those of a run; how many. */
size_t bounds_of(const struct model_run *run, struct bound ret[BOUNDS_MAX]);

/* enum counts_bound of the totals of a watched job, and of a row of one of its files. */
unsigned int bounds_of_totals(const struct model_run *run);
unsigned int bounds_of_row(const struct model_run *run);
/* Of what lies on a filesystem of this type. */
unsigned int bounds_of_fstype(const struct model_run *run, const struct bytes *fstype);

#endif
