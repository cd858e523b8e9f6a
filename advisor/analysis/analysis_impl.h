/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the analysis, shared by analysis*.c only. Owns nothing. */
#ifndef ANALYSIS_IMPL_H
#define ANALYSIS_IMPL_H

#include "advisor/analysis/analysis.h"

/* Reads the results of the models into a, from TEMP and from the intervals of each job. */
int analysis_load(sqlite3 *db, struct analysis *a, struct errtext *err);
/* Evaluates all rules. Collects the findings, and what could not be judged. */
int analysis_rules(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
		   struct analysis *a, struct errtext *err);

#endif
