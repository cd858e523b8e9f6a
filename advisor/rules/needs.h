/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a rule's needs were measured for a job, and if not, why. Owns the meaning of "measured"
 * for counters, tables and facts; reads the database.
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
 * *ret_reason NULL: all needs are met; else a sentence that continues "could not be judged,
 * because". -EINVAL with "FILE:LINE: ..." in err: an unknown need; -EIO, -ENOMEM.
 */
int needs_check(const struct needs_subject *s, const struct rule *rule, const char **ret_reason,
		struct errtext *err);

#endif
