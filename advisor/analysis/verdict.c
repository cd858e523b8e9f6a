/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/human.h"
#include "cachemon/figures/counts.h"

/* A number of pages, windows or calls in a sentence. */
#define COUNT "%" PRId64

/* For each word, the smallest share for which it is used; docs/advisor.md lists them. */
static const double REDUNDANT_FROM = 0.9; /* of the requested pages: already cached */
static const double HARMFUL_FROM = 0.5;	  /* of the pages brought or read ahead: evicted unused */
static const double REREAD_FROM = 0.3;	  /* of the pages dropped: read again */
static const double CUT_BELOW = 0.5;	  /* of the pages missing: brought; of the windows: without
					   * readahead */
static const double IN_FORCE_FROM = 0.1;  /* of the windows: without readahead */
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

static __attribute__((format(printf, 3, 4))) enum verdict
say_verdict(char ret_why[VERDICT_WHY_MAX], enum verdict v, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret_why, VERDICT_WHY_MAX, fmt, args);
	va_end(args);
	human_group(ret_why, VERDICT_WHY_MAX);
	return v;
}

static double share_of(int64_t part, int64_t whole)
{
	return (double)part / (double)whole;
}

static enum verdict judge_drop(const struct verdict_input *in, char why[VERDICT_WHY_MAX])
{
	if (!in->dropped.known)
		return say_verdict(why, VERDICT_NONE, "dropped pages were not measured");
	if (!in->dropped.value)
		return say_verdict(why, VERDICT_NO_EFFECT, "no page was dropped");
	if (!in->dropped_refaults.known)
		return say_verdict(why, VERDICT_NONE,
				   "whether dropped pages were read again was not measured");
	if (share_of(in->dropped_refaults.value, in->dropped.value) >= REREAD_FROM)
		return say_verdict(why, VERDICT_HARMFUL,
				   COUNT " of the " COUNT " pages it dropped were read again",
				   in->dropped_refaults.value, in->dropped.value);
	if (in->dropped_refaults_others.known &&
	    share_of(in->dropped_refaults_others.value, in->dropped.value) >= REREAD_FROM)
		return say_verdict(why, VERDICT_HARMFUL,
				   "others read " COUNT " of the " COUNT " pages it dropped again",
				   in->dropped_refaults_others.value, in->dropped.value);
	if (in->cached.known && in->cached.value > 0 &&
	    share_of(in->dropped.value, in->cached.value) < DROPPED_BELOW)
		return say_verdict(why, VERDICT_NO_EFFECT,
				   "it dropped " COUNT " of the " COUNT " cached pages it named",
				   in->dropped.value, in->cached.value);
	return say_verdict(why, VERDICT_HELPED,
			   "it freed " COUNT " pages, of which " COUNT " were read again",
			   in->dropped.value, in->dropped_refaults.value);
}

/* The share of the requested pages that was not cached; absent if unknown. */
static struct opt_i64 missing_of(const struct verdict_input *in)
{
	return opt_sub(in->asked, in->redundant);
}

/* Advice that brought pages: judges their fate, as far as untracked pages cannot change the
 * verdict. */
static enum verdict judge_brought(const struct verdict_input *in, char why[VERDICT_WHY_MAX])
{
	struct opt_i64 used = opt_add(in->used, in->used_late);
	struct opt_i64 judged = opt_add(used, in->evicted_unused);
	struct opt_i64 missing = missing_of(in);
	int64_t brought = in->brought.value;

	if (judged.known && share_of(in->evicted_unused.value, brought) >= HARMFUL_FROM)
		return say_verdict(why, VERDICT_HARMFUL,
				   COUNT " of the " COUNT " fetched pages were evicted unused",
				   in->evicted_unused.value, brought);
	if (missing.known && missing.value > 0 && share_of(brought, missing.value) < CUT_BELOW)
		return say_verdict(why, VERDICT_CUT_SHORT,
				   COUNT " of the " COUNT
					 " requested pages that were not cached were fetched",
				   brought, missing.value);
	if (!judged.known)
		return say_verdict(why, VERDICT_NONE,
				   "the fate of the fetched pages was not measured");
	if (counts_too_many_open((double)in->untracked, (double)judged.value))
		return say_verdict(why, VERDICT_NONE,
				   "the fate of " COUNT " of the " COUNT
				   " fetched pages is not known",
				   in->untracked, brought);
	if (used.value > 0 && share_of(in->used_late.value, used.value) >= LATE_FROM)
		return say_verdict(why, VERDICT_TOO_LATE,
				   "readers waited for " COUNT " of the " COUNT
				   " pages that were used",
				   in->used_late.value, used.value);
	if (share_of(used.value, brought) >= HELPED_FROM)
		return say_verdict(why, VERDICT_HELPED,
				   COUNT " of the " COUNT " pages it brought were used", used.value,
				   brought);
	if (share_of(used.value + in->untracked, brought) >= HELPED_FROM)
		return say_verdict(why, VERDICT_NONE,
				   COUNT " to " COUNT " of the " COUNT
					 " pages it brought were used",
				   used.value, used.value + in->untracked, brought);
	return say_verdict(why, VERDICT_NO_EFFECT,
			   "only " COUNT " of the " COUNT " pages it brought were used", used.value,
			   brought);
}

static enum verdict judge_fetch(const struct verdict_input *in, char why[VERDICT_WHY_MAX])
{
	if (!in->brought.known)
		return say_verdict(why, VERDICT_NONE, "fetched pages were not measured");
	if (in->redundant.known && in->asked.known && in->asked.value > 0 &&
	    share_of(in->redundant.value, in->asked.value) >= REDUNDANT_FROM)
		return say_verdict(why, VERDICT_REDUNDANT,
				   COUNT " of the " COUNT " requested pages were already cached",
				   in->redundant.value, in->asked.value);
	if (in->brought.value)
		return judge_brought(in, why);
	if (!in->redundant.known)
		return say_verdict(why, VERDICT_NONE,
				   "no page was fetched; it was not measured how many requested "
				   "pages were cached");
	return say_verdict(why, VERDICT_NO_EFFECT, "no page was fetched");
}

enum verdict verdict_of(const struct verdict_input *in, char ret_why[VERDICT_WHY_MAX])
{
	switch (in->kind) {
	case VERDICT_OF_FETCH:
		return judge_fetch(in, ret_why);
	case VERDICT_OF_DROP:
		return judge_drop(in, ret_why);
	default:
		return say_verdict(ret_why, VERDICT_NONE,
				   "the advice affects later reads and moves no page itself");
	}
}

/* A pattern that comes from counters alone is less certain. It also depends on the windows that
 * are judged here. */
static const double OF_COUNTERS = 0.5;

static const char *const in_order[] = {"sequential", "scan_once", "append_follow",
				       "mmap_sequential"};
static const char *const at_random[] = {"random", "shuffled_epoch", "mmap_random"};

static bool is_one_of(const struct verdict_standing *in, const char *const *names, size_t nr)
{
	if (!in->pattern || !in->confidence.known || in->confidence.value <= OF_COUNTERS)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(in->pattern, names[i]))
			return true;
	return false;
}

/* Whether the order of the reads explains the lack of readahead. */
static enum verdict by_pattern(const struct verdict_standing *in, const char *brought,
			       int64_t number, double share, char why[VERDICT_WHY_MAX])
{
	if (is_one_of(in, in_order, sizeof(in_order) / sizeof(in_order[0])))
		return say_verdict(why, VERDICT_HARMFUL,
				   "it is read in order (%s), and " COUNT " %s without readahead",
				   in->pattern, number, brought);
	if (!is_one_of(in, at_random, sizeof(at_random) / sizeof(at_random[0])))
		return say_verdict(
			why, VERDICT_NONE,
			"the access pattern (%s) does not show what readahead would have fetched",
			in->pattern ? in->pattern : "unknown");
	if (share < CUT_BELOW)
		return say_verdict(why, VERDICT_CUT_SHORT,
				   "it is read out of order, but only %.0f %% of its windows were "
				   "opened without readahead",
				   100 * share);
	return say_verdict(why, VERDICT_HELPED,
			   "it is read out of order (%s), and " COUNT " %s without readahead",
			   in->pattern, number, brought);
}

static enum verdict judge_random_mapping(const struct verdict_standing *in,
					 char why[VERDICT_WHY_MAX])
{
	if (!in->faults_major.known || !in->around.known)
		return say_verdict(why, VERDICT_NONE,
				   "faults and the pages around them were not measured");
	if (!in->faults_major.value)
		return say_verdict(why, VERDICT_REDUNDANT, "every accessed page was cached");
	if (in->around.value > in->faults_major.value)
		return say_verdict(why, VERDICT_NO_EFFECT,
				   COUNT " pages were read around " COUNT
					 " faults despite the advice",
				   in->around.value, in->faults_major.value);
	return by_pattern(in, "faults fetched only their page", in->faults_major.value, 1, why);
}

static enum verdict judge_random(const struct verdict_standing *in, char why[VERDICT_WHY_MAX])
{
	double all;
	double share;

	if (in->mapping)
		return judge_random_mapping(in, why);
	if (!in->windows_forced.known || !in->windows_read_ahead.known || !in->advised.known)
		return say_verdict(why, VERDICT_NONE, "readahead windows were not measured");
	if (in->advised.value)
		return say_verdict(why, VERDICT_NONE,
				   "other advice also opened windows of the file, which were not "
				   "counted separately");
	all = (double)(in->windows_forced.value + in->windows_read_ahead.value);
	if (all == 0)
		return say_verdict(why, VERDICT_NONE,
				   "no readahead window was opened for the file");
	share = (double)in->windows_forced.value / all;
	if (share < IN_FORCE_FROM)
		return say_verdict(why, VERDICT_NO_EFFECT,
				   COUNT " readahead windows were opened despite the advice; " COUNT
					 " reads did without",
				   in->windows_read_ahead.value, in->windows_forced.value);
	return by_pattern(in, "reads fetched only their pages", in->windows_forced.value, share,
			  why);
}

/* The advised windows were larger: judges the fate of the pages they brought in. */
static enum verdict judge_larger(const struct verdict_standing *in, char why[VERDICT_WHY_MAX])
{
	struct opt_i64 used = opt_add(in->used, in->used_late);
	int64_t ended;

	if (!used.known || !in->evicted_unused.known)
		return say_verdict(why, VERDICT_NONE,
				   "the fate of prefetched pages was not measured");
	ended = used.value + in->evicted_unused.value;
	if (counts_too_many_open((double)in->untracked, (double)ended))
		return say_verdict(why, VERDICT_NONE,
				   "the fate of " COUNT " prefetched pages is not known; for " COUNT
				   " it is",
				   in->untracked, ended);
	if (!ended)
		return say_verdict(why, VERDICT_NONE, "no prefetched page has a settled fate");
	if ((double)in->evicted_unused.value >= HARMFUL_FROM * (double)ended)
		return say_verdict(why, VERDICT_HARMFUL,
				   "windows were larger, and " COUNT " of " COUNT
				   " prefetched pages were evicted unused",
				   in->evicted_unused.value, ended);
	if ((double)in->used_late.value >= LATE_FROM * (double)used.value)
		return say_verdict(why, VERDICT_TOO_LATE,
				   "windows were larger, and readers waited for " COUNT
				   " of the " COUNT " pages that were used",
				   in->used_late.value, used.value);
	return say_verdict(why, VERDICT_HELPED,
			   "windows were larger, and " COUNT " of " COUNT
			   " pages read ahead were used",
			   used.value, ended);
}

/*
 * The advice doubles the largest window, which then falls into the next bucket of the histogram. A
 * read that asks for more than a window does the same without advice.
 */
static bool is_by_large_reads(const struct verdict_standing *in)
{
	int64_t least = (in->window_pages_max.value + 1) / 2;

	return least > 2 * in->read_ahead_pages.value || !in->pages_per_call.known ||
	       2 * in->pages_per_call.value > (double)in->read_ahead_pages.value;
}

static enum verdict judge_sequential(const struct verdict_standing *in, char why[VERDICT_WHY_MAX])
{
	if (in->mapping)
		return say_verdict(
			why, VERDICT_NONE,
			"readahead of a mapping due to the advice is not counted separately");
	if (!in->read_ahead_pages.known)
		return say_verdict(why, VERDICT_NONE,
				   "the read_ahead_kb of the device was not recorded");
	if (!in->window_pages_max.known)
		return say_verdict(why, VERDICT_NONE, "window sizes were not measured");
	if ((in->window_pages_max.value + 1) / 2 <= in->read_ahead_pages.value)
		return say_verdict(why, VERDICT_NO_EFFECT,
				   "no window was larger than " COUNT
				   " pages, the maximum without the advice",
				   in->read_ahead_pages.value);
	if (is_by_large_reads(in))
		return say_verdict(why, VERDICT_NONE,
				   "windows were larger, but large reads may also be the cause");
	return judge_larger(in, why);
}

static enum verdict judge_noreuse(const struct verdict_standing *in, char why[VERDICT_WHY_MAX])
{
	if (!in->reclaimed.known)
		return say_verdict(why, VERDICT_NONE, "reclaim of its pages was not measured");
	if (!in->reclaimed.value)
		return say_verdict(why, VERDICT_NO_EFFECT, "no page of the file was reclaimed");
	return say_verdict(
		why, VERDICT_NONE,
		COUNT
		" pages were reclaimed; how many would have been without the advice is not known",
		in->reclaimed.value);
}

static enum verdict judge_normal(const struct verdict_standing *in, char why[VERDICT_WHY_MAX])
{
	if (!in->others_standing.known)
		return say_verdict(why, VERDICT_NONE,
				   "whether other advice was in force before was not recorded");
	if (!in->others_standing.value)
		return say_verdict(why, VERDICT_REDUNDANT,
				   "no other advice was in force for the file");
	return say_verdict(why, VERDICT_NONE, "the effect of revoking other advice is not known");
}

enum verdict verdict_of_standing(const struct verdict_standing *in, char ret_why[VERDICT_WHY_MAX])
{
	if (!strcmp(in->kind, "normal"))
		return judge_normal(in, ret_why);
	if (!in->has_file)
		return say_verdict(ret_why, VERDICT_NONE,
				   "the file is not listed separately, so its reads are not known");
	if (!strcmp(in->kind, "noreuse"))
		return judge_noreuse(in, ret_why);
	if (in->demand.known && in->prefetched.known && !in->demand.value && !in->prefetched.value)
		return say_verdict(ret_why, VERDICT_REDUNDANT, "every requested page was cached");
	return strcmp(in->kind, "random") ? judge_sequential(in, ret_why)
					  : judge_random(in, ret_why);
}
