/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what a rule needs was measured for a job, and if not, why. Owns what "measured" means for
 * counters, tables and facts; reads the database.
 */
#ifndef RULES_NEEDS_H
#define RULES_NEEDS_H

#include <sqlite3.h>

#include "advisor/rules/rule.h"

struct needs_subject {
	sqlite3 *db;
	struct arena *arena;
	int64_t run_id, job_id;
};

/*
 * *ret_reason NULL: all is there; else a sentence for "could not be judged, because". -EINVAL with
 * "FILE:LINE: ..." in err: the rule needs what does not exist; -EIO, -ENOMEM.
 */
int needs_check(const struct needs_subject *s, const struct rule *rule, const char **ret_reason,
		struct errtext *err);

#endif
