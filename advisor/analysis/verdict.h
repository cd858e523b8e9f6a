/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The result of a piece of advice, in one word and one sentence. Lasting advice (RANDOM,
 * SEQUENTIAL, NOREUSE, NORMAL) moves no page itself; its verdict depends on what was fetched of the
 * file later. Owns the words and their limits. Pure.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "cachemon/base/optional.h"

enum verdict {
	VERDICT_NONE, /* could not be judged: `why` has the reason */
	VERDICT_HELPED,
	VERDICT_NO_EFFECT,
	VERDICT_HARMFUL,
	VERDICT_CUT_SHORT,
	VERDICT_REDUNDANT,
	VERDICT_TOO_LATE,
	VERDICT_NR,
};

/* NULL for VERDICT_NONE. */
const char *verdict_name(enum verdict v);

enum verdict_kind { VERDICT_OF_FETCH, VERDICT_OF_DROP, VERDICT_OF_STANDING };
/* By kind: willneed and readahead fetch, dontneed drops. verdict_of() judges these;
 * verdict_of_standing() judges the rest. */
enum verdict_kind verdict_kind_of(const char *advice_kind);

/* In pages. Absent: not measured. */
struct verdict_input {
	enum verdict_kind kind;
	struct opt_i64 asked, brought, dropped;
	struct opt_i64 redundant; /* requested by a fetch, and cached already */
	struct opt_i64 cached;	  /* named by a drop, and cached */
	struct opt_i64 used, used_late, evicted_unused;
	int64_t untracked;			/* brought, fate unknown */
	struct opt_i64 dropped_refaults;	/* dropped by it and read again */
	struct opt_i64 dropped_refaults_others; /* by others */
};

enum { VERDICT_WHY_MAX = 256 };

enum verdict verdict_of(const struct verdict_input *in, char ret_why[VERDICT_WHY_MAX]);

/* For the file that was advised, over the whole run; absent if not measured. */
struct verdict_standing {
	const char *kind;    /* "random", "sequential", "noreuse" or "normal" */
	bool mapping;	     /* madvise: for a mapping; else for an open file */
	bool has_file;	     /* the file has its own row; else everything below is absent */
	const char *pattern; /* NULL: none */
	struct opt_f64 confidence;
	struct opt_i64 demand, prefetched, around; /* pages; around: by fault-around, part of
						    * prefetched */
	struct opt_i64 advised;			   /* pages that other advice brought */
	struct opt_i64 windows_read_ahead, windows_forced;
	struct opt_i64 window_pages_max; /* largest window: at most 2^n - 1 pages */
	struct opt_i64 read_ahead_pages; /* readahead setting of the device */
	struct opt_f64 pages_per_call;	 /* mean pages that a read asked for */
	struct opt_i64 used, used_late, evicted_unused, reclaimed, faults_major;
	int64_t untracked;		/* read ahead, fate unknown */
	struct opt_i64 others_standing; /* other lasting advice for the file; absent: not all was
					 * seen */
};

enum verdict verdict_of_standing(const struct verdict_standing *in, char ret_why[VERDICT_WHY_MAX]);

#endif
