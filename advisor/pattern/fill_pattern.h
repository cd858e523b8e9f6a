/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of the files and directories of a run, into the TEMP table analysis_pattern, which is
 * made if it is not there. Reads the run of the TEMP table analysis_scope(run_id).
 */
#ifndef FILL_PATTERN_H
#define FILL_PATTERN_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"

/* 0, or -errno with a line in err. */
int fill_pattern(sqlite3 *db, struct errtext *err);

#endif
