/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/human.h"

/* Shares from which on a word is right; docs/advisor.md has them. */
static const double REDUNDANT_FROM = 0.9; /* of the pages asked for */
static const double HARMFUL_FROM = 0.5;	  /* of the pages brought: evicted unused */
static const double REREAD_FROM = 0.3;	  /* of the pages dropped: read again */
static const double CUT_BELOW = 0.5;	  /* of the pages missing: brought */
static const double LATE_FROM = 0.5;	  /* of the pages used: too late */
static const double HELPED_FROM = 0.5;	  /* of the pages brought: used */
static const double DROPPED_BELOW = 0.3;  /* of the cached pages named: dropped */

const char *verdict_name(enum verdict v)
{
	static const char *const names[VERDICT_NR] = {
		[VERDICT_HELPED] = "helped",	   [VERDICT_NO_EFFECT] = "no effect",
		[VERDICT_HARMFUL] = "harmful",	   [VERDICT_CUT_SHORT] = "cut short",
		[VERDICT_REDUNDANT] = "redundant", [VERDICT_TOO_LATE] = "too late",
	};

	return names[v];
}

enum verdict_kind verdict_kind_of(const char *advice_kind)
{
	if (!strcmp(advice_kind, "willneed") || !strcmp(advice_kind, "readahead"))
		return VERDICT_OF_FETCH;
	return strcmp(advice_kind, "dontneed") ? VERDICT_OF_STANDING : VERDICT_OF_DROP;
}

enum verdict verdict_say(char ret_why[VERDICT_WHY_MAX], enum verdict v, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret_why, VERDICT_WHY_MAX, fmt, args);
	va_end(args);
	human_group(ret_why, VERDICT_WHY_MAX);
	return v;
}

static double share(int64_t part, int64_t whole)
{
	return (double)part / (double)whole;
}

static enum verdict judge_drop(const struct verdict_input *in, char why[VERDICT_WHY_MAX])
{
	if (!in->dropped.known)
		return verdict_say(why, VERDICT_NONE, "the pages it dropped were not measured");
	if (!in->dropped.value)
		return verdict_say(why, VERDICT_NO_EFFECT, "it dropped no page");
	if (!in->dropped_refaults.known)
		return verdict_say(why, VERDICT_NONE,
				   "whether the pages it dropped were read again was not measured");
	if (share(in->dropped_refaults.value, in->dropped.value) >= REREAD_FROM)
		return verdict_say(why, VERDICT_HARMFUL,
				   "%" PRId64 " of the %" PRId64
				   " pages it dropped were read again",
				   in->dropped_refaults.value, in->dropped.value);
	if (in->dropped_refaults_others.known &&
	    share(in->dropped_refaults_others.value, in->dropped.value) >= REREAD_FROM)
		return verdict_say(why, VERDICT_HARMFUL,
				   "others read %" PRId64 " of the %" PRId64
				   " pages it dropped again",
				   in->dropped_refaults_others.value, in->dropped.value);
	if (in->cached.known && in->cached.value > 0 &&
	    share(in->dropped.value, in->cached.value) < DROPPED_BELOW)
		return verdict_say(why, VERDICT_NO_EFFECT,
				   "it dropped %" PRId64 " of the %" PRId64
				   " cached pages it named",
				   in->dropped.value, in->cached.value);
	return verdict_say(why, VERDICT_HELPED,
			   "it freed %" PRId64 " pages, of which %" PRId64 " were read again",
			   in->dropped.value, in->dropped_refaults.value);
}

bool verdict_fates_unknown(int64_t untracked, int64_t judged)
{
	return untracked > judged / 3;
}

/* What of the pages asked for was not there; absent when that is not known. */
static struct opt_i64 missing_of(const struct verdict_input *in)
{
	return opt_sub(in->asked, in->redundant);
}

/* It brought something: what became of that, as far as the pages that nobody followed cannot change
 * it. */
static enum verdict judge_brought(const struct verdict_input *in, char why[VERDICT_WHY_MAX])
{
	struct opt_i64 used = opt_add(in->used, in->used_late);
	struct opt_i64 judged = opt_add(used, in->evicted_unused);
	struct opt_i64 missing = missing_of(in);
	int64_t brought = in->brought.value;

	if (judged.known && share(in->evicted_unused.value, brought) >= HARMFUL_FROM)
		return verdict_say(why, VERDICT_HARMFUL,
				   "%" PRId64 " of the %" PRId64 " pages it brought left unused",
				   in->evicted_unused.value, brought);
	if (missing.known && missing.value > 0 && share(brought, missing.value) < CUT_BELOW)
		return verdict_say(why, VERDICT_CUT_SHORT,
				   "it brought %" PRId64 " of the %" PRId64
				   " pages that were asked for and not cached",
				   brought, missing.value);
	if (!judged.known)
		return verdict_say(why, VERDICT_NONE,
				   "what became of the pages it brought was not measured");
	if (verdict_fates_unknown(in->untracked, judged.value))
		return verdict_say(why, VERDICT_NONE,
				   "what became of %" PRId64 " of the %" PRId64
				   " pages it brought is not known",
				   in->untracked, brought);
	if (used.value > 0 && share(in->used_late.value, used.value) >= LATE_FROM)
		return verdict_say(why, VERDICT_TOO_LATE,
				   "readers waited for %" PRId64 " of the %" PRId64
				   " pages that were used",
				   in->used_late.value, used.value);
	if (share(used.value, brought) >= HELPED_FROM)
		return verdict_say(why, VERDICT_HELPED,
				   "%" PRId64 " of the %" PRId64 " pages it brought were used",
				   used.value, brought);
	if (share(used.value + in->untracked, brought) >= HELPED_FROM)
		return verdict_say(why, VERDICT_NONE,
				   "%" PRId64 " to %" PRId64 " of the %" PRId64
				   " pages it brought were used",
				   used.value, used.value + in->untracked, brought);
	return verdict_say(why, VERDICT_NO_EFFECT,
			   "only %" PRId64 " of the %" PRId64 " pages it brought were used",
			   used.value, brought);
}

static enum verdict judge_fetch(const struct verdict_input *in, char why[VERDICT_WHY_MAX])
{
	if (!in->brought.known)
		return verdict_say(why, VERDICT_NONE, "the pages it brought were not measured");
	if (in->redundant.known && in->asked.known && in->asked.value > 0 &&
	    share(in->redundant.value, in->asked.value) >= REDUNDANT_FROM)
		return verdict_say(why, VERDICT_REDUNDANT,
				   "%" PRId64 " of the %" PRId64
				   " pages asked for were cached already",
				   in->redundant.value, in->asked.value);
	if (in->brought.value)
		return judge_brought(in, why);
	if (!in->redundant.known)
		return verdict_say(
			why, VERDICT_NONE,
			"it brought no page; whether they were cached already was not measured");
	return verdict_say(why, VERDICT_NO_EFFECT, "it brought no page");
}

enum verdict verdict_of(const struct verdict_input *in, char ret_why[VERDICT_WHY_MAX])
{
	switch (in->kind) {
	case VERDICT_OF_FETCH:
		return judge_fetch(in, ret_why);
	case VERDICT_OF_DROP:
		return judge_drop(in, ret_why);
	default:
		return verdict_say(ret_why, VERDICT_NONE,
				   "it stands for later reads and moves no page itself");
	}
}
