/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What became of advice that stands for later reads (RANDOM, SEQUENTIAL, NOREUSE, NORMAL): it moves
 * no page itself, so its verdict goes by what was then fetched of its file, and how. Owns the
 * limits. Pure.
 */
#ifndef VERDICT_STANDING_H
#define VERDICT_STANDING_H

#include "advisor/analysis/verdict.h"

/* Of the file it was given for, over the whole run; absent is what was not measured. */
struct verdict_standing {
	const char *kind;    /* random sequential noreuse normal */
	bool mapping;	     /* madvise: for a mapping, else for a description */
	bool has_file;	     /* the file has a row of its own; else all below is absent */
	const char *pattern; /* NULL: none */
	struct opt_f64 confidence;
	struct opt_i64 demand, prefetched, around; /* pages; around: of faults, among prefetched */
	struct opt_i64 advised;			   /* pages that other advice brought */
	struct opt_i64 windows_read_ahead, windows_forced;
	struct opt_i64 window_pages_max; /* no window added more: 2^n - 1 */
	struct opt_i64 read_ahead_pages; /* of the device */
	struct opt_f64 pages_per_call;	 /* that a read asked for, mean */
	struct opt_i64 used, used_late, evicted_unused, reclaimed, faults_major;
	int64_t untracked;		/* read ahead, and nobody knows what became of them */
	struct opt_i64 others_standing; /* other such advice for the file; absent: not all seen */
};

enum verdict verdict_of_standing(const struct verdict_standing *in, char ret_why[VERDICT_WHY_MAX]);

#endif
