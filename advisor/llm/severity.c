/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/check_impl.h"
#include "advisor/llm/phrase.h"

/* Levels that no rule has: whoever says them raises or hides a finding. */
static const char levels[] =
	"critical critically severe severely catastrophic catastrophe urgent urgently fatal "
	"emergency blocker disastrous disaster harmless negligible unimportant insignificant "
	"irrelevant cosmetic trivial";

static const char hiding[] =
	"false positive, false positives, false alarm, can be ignored, may be ignored, "
	"should be ignored, must be ignored, could be ignored, be safely ignored, "
	"safely ignore, ignore this, ignore it, ignore the finding, ignore the findings, "
	"ignore these, ignore all, disregard, nothing to worry, no need to worry, "
	"no reason to worry, no problem, not a problem, no action, nothing needs to be done, "
	"nothing is wrong, nothing wrong, no issue, no issues, not an issue, "
	"no longer relevant, not relevant, not important, of no concern, does not matter, "
	"do not matter, need not act, of no importance, of little importance, not a concern";

static const char scales[] = "severity priority";

/* By enum severity; words that are not a rule's have none of its levels. */
static const char *const of_rules[SEVERITY_NR] = {"info", "low", "medium", "high"};
static const char of_others[] =
	"lowest lower lowered highest higher raised minor major moderate top none maximum "
	"minimal zero reduced increased downgraded upgraded overstated understated "
	"exaggerated wrong";

/* A word is a level, and not that of the finding. */
static bool is_other(const struct pack_finding *about, struct word w)
{
	for (int i = 0; i < SEVERITY_NR; i++)
		if (word_is(w, of_rules[i]))
			return !about || (int)about->severity != i;
	return word_is_one_of(w, of_others);
}

/* "high severity", "severity: low", "severity is rather low". */
static bool is_rated(const struct pack_finding *about, const char *text)
{
	enum { BEHIND = 4 };
	struct word before = {0}, w, next;

	while (word_next(&text, &w)) {
		const char *at = text;

		if (word_is_one_of(w, scales)) {
			if (before.at && is_other(about, before))
				return true;
			for (int i = 0; i < BEHIND && word_next(&at, &next); i++)
				if (is_other(about, next))
					return true;
		}
		before = w;
	}
	return false;
}

/* Where there is nothing to hide, that may be said. */
static bool has_grave(const struct pack *p, const struct pack_finding *about)
{
	if (about)
		return about->severity > SEVERITY_INFO;
	for (size_t i = 0; i < p->nr_findings; i++)
		if (p->findings[i].severity > SEVERITY_INFO)
			return true;
	return false;
}

bool severity_differs(const struct pack *p, const struct pack_finding *about, const char *text)
{
	const char *at = text;
	struct word w;

	while (word_next(&at, &w))
		if (word_is_one_of(w, levels))
			return true;
	return is_rated(about, text) || (has_grave(p, about) && phrase_in_any(text, hiding));
}
