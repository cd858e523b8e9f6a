/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis.h"

static bool found(const struct finding *f, const struct rule *rule)
{
	if (f->rule == rule)
		return true;
	for (const struct finding *m = f->merged; m; m = m->merged)
		if (m->rule == rule)
			return true;
	return false;
}

bool analysis_passed(const struct analysis *a, const struct analysis_job *job,
		     const struct rule *rule)
{
	/* Without a query it is thresholds of another; one that runs last sums the others up. */
	if (!rule->sql || rule->last)
		return false;
	for (size_t i = 0; i < a->nr_unjudged; i++)
		if (a->unjudged[i].job_id == job->id && a->unjudged[i].rule == rule)
			return false;
	for (size_t i = 0; i < job->nr_findings; i++)
		if (found(&job->findings[i], rule))
			return false;
	return true;
}
