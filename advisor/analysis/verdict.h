/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What became of a piece of advice, in one word and one sentence. Owns the words and the limits
 * between them. Pure.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "cachemon/base/optional.h"

enum verdict {
	VERDICT_NONE, /* could not be judged: why has the reason */
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
/* By the kind of advice: willneed and readahead fetch, dontneed drops; verdict_of() is for these
 * two, verdict_standing.h for the rest. */
enum verdict_kind verdict_kind_of(const char *advice_kind);

/* Pages; absent is what was not measured. */
struct verdict_input {
	enum verdict_kind kind;
	struct opt_i64 asked, brought, dropped;
	struct opt_i64 redundant; /* asked for by a fetch and cached already */
	struct opt_i64 cached;	  /* named by a drop and cached */
	struct opt_i64 used, used_late, evicted_unused;
	int64_t untracked;			/* brought, and nobody knows what became of them */
	struct opt_i64 dropped_refaults;	/* dropped by it and read again */
	struct opt_i64 dropped_refaults_others; /* by others */
};

enum { VERDICT_WHY_MAX = 256 };

/* So many are untracked that the fates of the rest do not speak for all: over a third of those. */
bool verdict_fates_unknown(int64_t untracked, int64_t judged);

/* v, with the text for why: for whoever decides. */
enum verdict verdict_say(char ret_why[VERDICT_WHY_MAX], enum verdict v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
enum verdict verdict_of(const struct verdict_input *in, char ret_why[VERDICT_WHY_MAX]);

#endif
