/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the analysis: shared by analysis*.c only. Owns nothing. */
#ifndef ANALYSIS_IMPL_H
#define ANALYSIS_IMPL_H

#include "advisor/analysis/analysis.h"

/* analysis_models.c: the models that work on one job at a time, for each watched one. They are
 * kept, and put into TEMP for the rules. */
int analysis_models(sqlite3 *db, struct analysis *a, struct errtext *err);
void analysis_models_free(struct analysis *a);
/* analysis_load.c: what the models came to, from TEMP into ret. */
int analysis_load(sqlite3 *db, struct analysis *a, struct errtext *err);
/* analysis_patterns.c, analysis_grades.c: parts of it. */
int analysis_load_patterns(sqlite3 *db, struct analysis *a, struct errtext *err);
int analysis_load_grades(sqlite3 *db, struct analysis *a, struct errtext *err);
/* analysis_series.c: what the intervals of each watched job say, and its earlier runs. */
int analysis_load_series(sqlite3 *db, struct analysis *a, struct errtext *err);
/* analysis_rules.c: all rules, their findings and what could not be judged. */
int analysis_rules(sqlite3 *db, int64_t run_id, const struct analysis_options *options,
		   struct analysis *a, struct errtext *err);

#endif
