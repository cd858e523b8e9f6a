/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running one rule: prepared under the guard, its parameters bound by name, its rows read into
 * findings. Owns what a row of a rule must look like and the words for when it does not.
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
	uint64_t steps;		     /* 0: the default bound */
	struct guard_budget *budget; /* that the site's rules share */
	/* Rows of which jobs count: */
	bool (*wants)(void *arg, int64_t job_id);
	/* Called for rows that are not findings but reasons why the rule cannot be judged; or
	 * NULL. */
	void (*doubts)(void *arg, int64_t job_id, const char *reason);
	void *arg;
};

/*
 * 0 and up to *ret_nr findings of each job; -EINVAL with "FILE:LINE: ..." in err when the rule is
 * not right or takes too long, -EIO when the database cannot be read, -ENOMEM.
 */
int eval_rule(const struct eval *e, const struct rule *rule, const struct note *note,
	      struct finding **ret_list, size_t *ret_nr, struct errtext *err);

/* Checks a rule without running it, so that a mistake also shows if its needs were not
 * measured. */
int eval_check(const struct eval *e, const struct rule *rule, struct errtext *err);

#endif
