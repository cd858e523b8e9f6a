/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The curve of a job as rows for the rules: TEMP tables analysis_curve and analysis_curve_fact of a
 * connection. Owns these tables; the database itself is only read.
 */
#ifndef FILL_CURVE_H
#define FILL_CURVE_H

#include <sqlite3.h>
#include <stdint.h>

#include "advisor/analysis/job_curve.h"
#include "cachemon/base/errtext.h"

/* A job without a curve gets a row of analysis_curve_fact alone, with the reason. 0 or -errno. */
int fill_curve(sqlite3 *db, int64_t job_id, const struct job_curve *c, struct errtext *err);

#endif
