/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run saw a job read, against the kernel's own count of it: the tasks' rchar and syscr. Owns
 * that comparison and its words, for every format.
 */
#ifndef REPORT_READS_CHECK_H
#define REPORT_READS_CHECK_H

#include "cachemon/model/model.h"

struct reads_check {
	struct opt_i64 seen_bytes, seen_calls;	   /* read through the cache and past it */
	struct opt_i64 kernel_bytes, kernel_calls; /* read from anything, by any call */
	char warning[400]; /* they differ by more than 1 %; "": they do not */
};

void reads_check(const struct model_job *job, struct reads_check *ret);

#endif
