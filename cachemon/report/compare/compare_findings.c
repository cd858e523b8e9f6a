/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_findings.h"

#include <string.h>

const char *const finding_fate_names[FINDING_FATE_NR] = {
	[FINDING_STILL] = "still there",
	[FINDING_NEW] = "new",
	[FINDING_GONE] = "gone",
	[FINDING_UNJUDGED] = "not judged",
};

static bool same_subject(const struct finding *a, const struct finding *b)
{
	return !strcmp(a->rule->id, b->rule->id) && a->kind == b->kind &&
	       a->subject.len == b->subject.len &&
	       (!a->subject.len || !memcmp(a->subject.data, b->subject.data, a->subject.len));
}

/* Lesser ones of the same cause are findings, too. */
static const struct finding *find(const struct analysis_job *j, const struct finding *wanted)
{
	for (size_t i = 0; j && i < j->nr_findings; i++)
		for (const struct finding *f = &j->findings[i]; f; f = f->merged)
			if (same_subject(f, wanted))
				return f;
	return NULL;
}

static const char *unjudged(const struct analysis *a, int64_t job_id, const struct rule *rule)
{
	if (!a || !analysis_job_of(a, job_id))
		return "the run was not analysed";
	for (size_t i = 0; i < a->nr_unjudged; i++)
		if (a->unjudged[i].job_id == job_id && !strcmp(a->unjudged[i].rule->id, rule->id))
			return a->unjudged[i].reason;
	return NULL;
}

static size_t count(const struct analysis_job *j)
{
	size_t nr = 0;

	for (size_t i = 0; j && i < j->nr_findings; i++)
		for (const struct finding *f = &j->findings[i]; f; f = f->merged)
			nr++;
	return nr;
}

/* Those of one run, with what the other one has of them; both: those that both have. */
static void add(const struct analysis *const analysis[2], const struct model_job *const job[2],
		int which, bool both, struct compare_finding *list, size_t *nr)
{
	const struct analysis_job *j[2];

	for (int i = 0; i < 2; i++)
		j[i] = analysis[i] ? analysis_job_of(analysis[i], job[i]->id) : NULL;
	for (size_t i = 0; j[which] && i < j[which]->nr_findings; i++)
		for (const struct finding *f = &j[which]->findings[i]; f; f = f->merged) {
			const struct finding *other = find(j[!which], f);
			struct compare_finding c = {.fate = which ? FINDING_NEW : FINDING_GONE};

			if (!other != !both)
				continue;
			c.of[which] = f;
			c.of[!which] = other;
			if (other)
				c.fate = FINDING_STILL;
			else
				c.unjudged = unjudged(analysis[!which], job[!which]->id, f->rule);
			if (c.unjudged)
				c.fate = FINDING_UNJUDGED;
			list[(*nr)++] = c;
		}
}

void compare_findings_make(struct arena *a, const struct analysis *const analysis[2],
			   const struct model_job *const job[2], struct compare_finding **ret,
			   size_t *ret_nr)
{
	size_t room = 1;
	size_t nr = 0;

	for (int i = 0; i < 2; i++)
		if (analysis[i])
			room += count(analysis_job_of(analysis[i], job[i]->id));
	*ret = arena_alloc(a, room * sizeof(**ret));
	*ret_nr = 0;
	if (!*ret)
		return;
	add(analysis, job, 1, true, *ret, &nr);
	add(analysis, job, 1, false, *ret, &nr);
	add(analysis, job, 0, false, *ret, &nr);
	*ret_nr = nr;
}
