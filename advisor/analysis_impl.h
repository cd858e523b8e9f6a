/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the analysis: shared by analysis*.c only. Owns nothing. */
#ifndef ANALYSIS_IMPL_H
#define ANALYSIS_IMPL_H

#include "advisor/analysis.h"

/* analysis_load.c: what the models came to, from TEMP into ret. */
int analysis_load(sqlite3 *db, struct analysis *a, struct errtext *err);
/* analysis_patterns.c, analysis_grades.c: parts of it. */
int analysis_load_patterns(sqlite3 *db, struct analysis *a, struct errtext *err);
int analysis_load_grades(sqlite3 *db, struct analysis *a, struct errtext *err);
/* analysis_rules.c: all rules, their findings and what could not be judged. */
int analysis_rules(sqlite3 *db, int64_t run_id, uint64_t steps, struct analysis *a,
		   struct errtext *err);

#endif
