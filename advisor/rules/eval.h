/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs one rule: prepares it under the guard, binds its parameters by name, and turns its rows into
 * findings. Owns the required format of a row and the errors for a wrong one.
 */
#ifndef RULES_EVAL_H
#define RULES_EVAL_H

#include <sqlite3.h>

#include "advisor/rules/finding.h"
#include "advisor/rules/guard.h"

/* The most findings kept for one rule and job: those with the highest gain. */
enum { EVAL_ROWS_MAX = 10 };

struct eval {
	sqlite3 *db;
	struct arena *arena;
	uint64_t steps;		     /* 0: the default limit */
	struct guard_budget *budget; /* budget that the site's rules share */
	/* The jobs whose rows count: */
	bool (*wants)(void *arg, int64_t job_id);
	/* Called for rows that are reasons why the rule cannot be judged, instead of findings;
	 * may be NULL. */
	void (*doubts)(void *arg, const struct finding *in_doubt, const char *reason);
	void *arg;
};

/*
 * 0 and at most *ret_nr findings of each job; -EINVAL with "FILE:LINE: ..." in err if the rule is
 * faulty or takes too long; -EIO if the database cannot be read; -ENOMEM.
 */
int eval_rule(const struct eval *e, const struct rule *rule, const struct note *note,
	      struct finding **ret_list, size_t *ret_nr, struct errtext *err);

/* Checks a rule without running it, so that an error shows even if its needs were not measured. */
int eval_check(const struct eval *e, const struct rule *rule, struct errtext *err);

#endif
